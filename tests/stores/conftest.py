"""What the tests of the stores share."""

import pytest

pytest.register_assert_rewrite("tests.stores.contract", "tests.stores.folding", "tests.stores.twins")
