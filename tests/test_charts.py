"""Charts: what is drawn where, and its description."""

import pytest

from petstore_site.charts import HEIGHT, WIDTH, Bar, Chart, Figure, Row, Series, Spark

TWO = [Series("Good", "bar-available"), Series("Bad", "bar-failed")]


def row(label: str, *values: int) -> Row:
    return Row(label, [Figure(value) for value in values])


def test_upright_bars_stand_on_each_other() -> None:
    chart = Chart("use", "Use", TWO, [row("Mon", 75, 25), row("Tue", 0, 50)])
    assert chart.bars == [
        Bar(136.0, 37.5, 48, 112.5, "bar-available", "Mon, Good: 75"),
        Bar(136.0, 0.0, 48, 37.5, "bar-failed", "Mon, Bad: 25"),
        Bar(456.0, 75.0, 48, 75.0, "bar-failed", "Tue, Bad: 50"),
    ]
    assert chart.highest == 100
    assert chart.description == "150 in all; most in Mon: 100. The table has every figure."


def test_bars_of_a_table_share_the_longest() -> None:
    series = [Series("Good", "available"), Series("Bad", "sold")]
    assert list(row("Dogs", 30, 10).bar(80, series)) == [("available", "0.00%", "37.50%"), ("sold", "37.50%", "12.50%")]
    assert list(row("Cats", 0, 80).bar(80, series)) == [("sold", "0.00%", "100.00%")]
    assert list(row("Fish", 0, 0).bar(0, series)) == []


def test_a_spark_has_a_line_or_bars() -> None:
    assert Spark([0, 5, 10]).points == "0.0,34.0 50.0,20.0 100.0,6.0"
    assert Spark([7, 7]).points == "0.0,34.0 100.0,34.0"
    assert Spark([0, 1, 1000, 500], kind="bars").bars == [
        ("29.00%", "17.00%", "34.5", "1.5"),
        ("54.00%", "17.00%", "6.0", "30.0"),
        ("79.00%", "17.00%", "21.0", "15.0"),
    ]
    assert Spark([0, 0], kind="bars").bars == []


def test_charts_side_by_side_share_the_longest_bar() -> None:
    bars = [Chart("use", "Use", TWO[:1], [row("Mon", 50)], top=top).bars[0].height for top in (0, 50, 100)]
    assert bars == [150, 150, 75]


@pytest.mark.parametrize("rows", [[], [row("Mon", 0, 0)]])
def test_nothing_draws_nothing(rows: list[Row]) -> None:
    chart = Chart("use", "Use", TWO, rows)
    assert (chart.bars, chart.description) == ([], "Nothing to show.")


@pytest.mark.parametrize("biggest", [1, 10**12])
def test_a_bar_never_leaves_the_picture(biggest: int) -> None:
    chart = Chart("use", "Use", TWO, [row("Mon", biggest, 1), row("Tue", 1, 0)])
    for bar in chart.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH
        assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT
        assert min(bar.width, bar.height) >= 1.5
