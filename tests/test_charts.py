"""A bar chart as numbers."""

import pytest

from petstore_site.charts import HEIGHT, WIDTH, Bar, bars


def test_bars_stand_on_the_ground_and_the_highest_fills_the_picture() -> None:
    assert bars([("Mon", 10, "/mon/"), ("Tue", 5, ""), ("Wed", 0, "")]) == {
        "bars": [
            Bar("Mon", 10, "/mon/", x=90, y=0, width=60, height=120),
            Bar("Tue", 5, "", x=330, y=60, width=60, height=60),
            Bar("Wed", 0, "", x=570, y=120, width=60, height=0),
        ],
        "width": 720,
        "height": 120,
        "top": 10,
        "total": 15,
    }


def test_what_is_little_is_still_seen() -> None:
    assert [bar.height for bar in bars([("a", 1, ""), ("b", 1_000_000, "")])["bars"]] == [2, 120]


def test_charts_side_by_side_share_a_scale() -> None:
    assert bars([("a", 5, "")], top=10)["bars"][0].height == 60


@pytest.mark.parametrize("number", [0, 1, 2, 30, 100, 366])
def test_any_number_of_bars_lies_in_the_picture(number: int) -> None:
    drawn = bars([(str(each), each, "") for each in range(number)])["bars"]
    assert len(drawn) == number
    assert all(bar.width > 0 and 0 <= bar.x <= WIDTH - bar.width for bar in drawn)
    assert all(0 <= bar.y <= HEIGHT - bar.height for bar in drawn)
