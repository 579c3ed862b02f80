"""The behaviour that all stores share asserts as tests do."""

import pytest

pytest.register_assert_rewrite("behaviour")
