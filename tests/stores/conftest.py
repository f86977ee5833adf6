"""What the tests of the stores share."""

import pytest

pytest.register_assert_rewrite(
    *[
        f"tests.stores.{name}"
        for name in ("bench", "contract_delivery", "contract_endings", "contract_queues", "folding", "twins")
    ]
)
