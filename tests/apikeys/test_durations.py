"""The written form of a length of time, as commands take it."""

from argparse import ArgumentTypeError
from datetime import timedelta

import pytest

from petstore_site.apikeys.management.base import duration as parse_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("30min", timedelta(minutes=30)),
        ("24h", timedelta(hours=24)),
        ("90d", timedelta(days=90)),
        ("2w", timedelta(weeks=2)),
        ("36500d", timedelta(days=36500)),
    ],
)
def test_what_is_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    ["", "0d", "-1d", "+1d", "1", "d", "1.5h", "90 d", " 90d", "90d\n", "90D", "1y", "٣d", "01d", "1e3d",
     "36501d", "5215w", "99999999w", "9" * 5000 + "d"],
)  # fmt: skip
def test_what_is_rejected(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^must be such as 30min, 24h, 90d or 2w, and at most 36500d\.$"):
        parse_duration(text)


@pytest.mark.parametrize("number", ["1", "30"])
def test_minutes_or_months(number: str) -> None:
    with pytest.raises(
        ArgumentTypeError, match=rf"^{number}m may be minutes or months\. Write {number}min, or months in days"
    ):
        parse_duration(f"{number}m")
