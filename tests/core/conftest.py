"""What the tests of the rules share."""

import pytest

pytest.register_assert_rewrite("tests.core.table")
