"""Charts: what is drawn where, and its description."""

import pytest

from petstore_site.charts import Bar, Chart, Figure, Mark, Row, Series, Spark

TWO = [Series("Good", "bar-available"), Series("Bad", "bar-failed")]


def row(label: str, *values: int) -> Row:
    return Row(label, [Figure(value) for value in values])


def test_upright_bars_are_on_each_other() -> None:
    chart = Chart("Use", TWO, [row("Mon", 75, 25), row("Tue", 0, 50)])
    assert (chart.highest, chart.base) == (100, 158)
    monday, tuesday = chart.columns
    assert monday == (
        "Mon: 75 good, 25 bad",
        "0.00%",
        "50.00%",
        [
            Bar("bar-available", "7.00%", "36.00%", "47.0", "111.0"),
            Bar("bar-failed", "7.00%", "36.00%", "10.0", "37.0"),
        ],
    )
    assert tuesday.bars == [Bar("bar-failed", "57.00%", "36.00%", "84.0", "74.0")]
    assert chart.description == "Use. 150 in all; most on Mon: 100. The table has every figure."


def test_a_day_that_is_not_over_is_drawn_as_unfinished() -> None:
    rows = [row("20 Nov", 8, 0), row("21 Nov", 4, 0)]
    chart = Chart("Use", TWO, rows, is_last_open=True)
    assert [column.bars[0].css for column in chart.columns] == ["bar-available", "bar-available bar-open"]
    assert [mark.text for mark in chart.names] == ["20 Nov", "21 Nov, so far"]
    over = Chart("Use", TWO, rows)
    assert "bar-open" not in str(over.columns)
    assert over.names[-1].text == "21 Nov"


@pytest.mark.parametrize(
    ("most", "marks"),
    [
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (45, ["0", "20", "40", "60"]),
        (443, ["0", "200", "400", "600"]),
        (14_200, ["0", "5,000", "10,000", "15,000"]),
    ],
)
def test_the_axis_has_round_figures(most: int, marks: list[str]) -> None:
    chart = Chart("Use", TWO, [row("Mon", most, 0)])
    assert [mark.text for mark in chart.marks] == marks
    assert (chart.marks[0], chart.marks[-1].at) == (Mark("0", "158.0"), "10.0")


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
    charts = [Chart("Use", TWO[:1], [row("Mon", 50)], top=top) for top in (0, 50, 100)]
    assert [chart.columns[0].bars[0].height for chart in charts] == ["123.3", "123.3", "74.0"]


@pytest.mark.parametrize("rows", [[], [row("Mon", 0, 0)]])
def test_nothing_draws_nothing(rows: list[Row]) -> None:
    chart = Chart("Use", TWO, rows)
    assert ([bar for column in chart.columns for bar in column.bars], chart.description) == (
        [],
        "Use. Nothing to show.",
    )


@pytest.mark.parametrize("biggest", [1, 10**12])
def test_a_bar_never_leaves_the_picture(biggest: int) -> None:
    chart = Chart("Use", TWO, [row("Mon", biggest, 1), row("Tue", 1, 0)])
    for bar in (bar for column in chart.columns for bar in column.bars):
        x, width = (float(each.removesuffix("%")) for each in (bar.x, bar.width))
        assert 0 <= x < x + width <= 100
        assert 0 <= float(bar.y) < float(bar.y) + float(bar.height) <= chart.base + 0.1
        assert float(bar.height) >= 1.5
