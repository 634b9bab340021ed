"""The written form of a rate limit."""

import pytest

from rest.rates import parse_rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [("1/s", "1/second"), ("600/min", "600/minute"), ("9/h", "9/hour"), ("1000000/day", "1000000/day")],
)
def test_what_a_rate_may_be(text: str, rate: str) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "0/s", "01/s", "1000001/day", "10000000/s", "-1/s", "1/m", "1 /s", "1/s ", "1/s\n", "٣/s", "s"]
)
def test_what_it_may_not_be(text: str) -> None:
    with pytest.raises(ValueError, match="with N from 1 to 1000000, as in 600/min"):
        parse_rate(text)
