import pytest

from parkway.schemas.decimals import decimal


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9223372036854775807", 2**63 - 1)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert decimal(text) == number


@pytest.mark.parametrize("text", ["", "²", "٣", "-1", "1_0", " 1", "9223372036854775808", "9" * 5000])
def test_what_anybody_may_write_raises_nothing(text: str) -> None:
    assert decimal(text) is None
