"""Charts: what is drawn where, and its description."""

import pytest

from petstore_site.back_office.charts import Bar, Chart, Figure, Row, Series

TWO = [Series("Good", "bar-available"), Series("Bad", "bar-wrong")]


def row(label: str, *values: int) -> Row:
    return Row(label, [Figure(value) for value in values])


def test_upright_bars_stand_on_each_other() -> None:
    chart = Chart("use", "Use", TWO, [row("Mon", 75, 25), row("Tue", 0, 50)])
    assert chart.picture.bars == [
        Bar(32.0, 55.5, 256.0, 112.5, "bar-available", "Mon, Good: 75"),
        Bar(32.0, 18.0, 256.0, 37.5, "bar-wrong", "Mon, Bad: 25"),
        Bar(352.0, 93.0, 256.0, 75.0, "bar-wrong", "Tue, Bad: 50"),
    ]
    assert [(text.text, text.anchor) for text in chart.picture.texts] == [
        ("100", "start"),
        ("Mon", "start"),
        ("Tue", "end"),
    ]
    assert chart.description == "150 in all; most in Mon: 100. The table has every figure."


def test_lying_bars_have_their_label_and_total_beside_them() -> None:
    chart = Chart("stock", "Stock", TWO, [row("Dogs", 3000, 1000), row("x" * 25, 0, 1)], lying=True)
    assert chart.picture.bars == [
        Bar(190.0, 5, 277.5, 16, "bar-available", "Dogs, Good: 3,000"),
        Bar(467.5, 5, 92.5, 16, "bar-wrong", "Dogs, Bad: 1,000"),
        Bar(190.0, 31, 1.5, 16, "bar-wrong", f"{'x' * 25}, Bad: 1"),
    ]
    assert [text.text for text in chart.picture.texts] == ["Dogs", "4,000", f"{'x' * 23}…", "1"]


@pytest.mark.parametrize(("label", "shown"), [("x" * 24, "x" * 24), ("x" * 25, f"{'x' * 23}…")])
def test_a_label_of_24_characters_has_room(label: str, shown: str) -> None:
    assert Chart("stock", "Stock", TWO, [row(label, 1, 0)], lying=True).picture.texts[0].text == shown


def test_charts_side_by_side_share_the_longest_bar() -> None:
    bars = [Chart("use", "Use", TWO[:1], [row("Mon", 50)], top=top).picture.bars[0].height for top in (0, 50, 100)]
    assert bars == [150, 150, 75]


@pytest.mark.parametrize("lying", [False, True])
@pytest.mark.parametrize("rows", [[], [row("Mon", 0, 0)]])
def test_nothing_draws_nothing(rows: list[Row], lying: bool) -> None:
    chart = Chart("use", "Use", TWO, rows, lying=lying)
    assert (chart.picture.bars, chart.description) == ([], "Nothing to show.")


@pytest.mark.parametrize("biggest", [1, 10**12])
def test_a_bar_never_leaves_the_picture(biggest: int) -> None:
    for lying in (False, True):
        chart = Chart("use", "Use", TWO, [row("Mon", biggest, 1), row("Tue", 1, 0)], lying=lying)
        for bar in chart.picture.bars:
            assert 0 <= bar.x <= bar.x + bar.width <= chart.picture.width
            assert 0 <= bar.y <= bar.y + bar.height <= chart.picture.height
            assert min(bar.width, bar.height) >= 1.5
