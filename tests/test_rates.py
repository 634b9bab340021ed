"""The written form of a rate limit."""

import pytest

from rest.rates import parse_rate


@pytest.mark.parametrize(
    ("text", "seconds", "amount"),
    [("1/s", 1, 1), ("600/min", 60, 600), ("9/h", 3_600, 9), ("1000000/day", 86_400, 1_000_000)],
)
def test_what_a_rate_may_be(text: str, seconds: int, amount: int) -> None:
    rate = parse_rate(text)
    assert (rate.amount, rate.get_expiry()) == (amount, seconds)


@pytest.mark.parametrize(
    "text", ["", "0/s", "01/s", "1000001/day", "10000000/s", "-1/s", "1/m", "1 /s", "1/s ", "1/s\n", "٣/s", "s"]
)
def test_what_it_may_not_be(text: str) -> None:
    with pytest.raises(ValueError, match="with N from 1 to 1000000, as in 600/min"):
        parse_rate(text)
