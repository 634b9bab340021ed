"""The figures of the last 30 days, each with a small picture of its days, and the table of them."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from history.times import last_days
from pets import stock
from petstore_site.apikeys.overview import DAYS, ENOUGH, RequestCount, spark_of
from petstore_site.back_office.addresses import listed
from petstore_site.charts import Figure, Spark

TWICE = 2
"""So many times the usual share of errors is an alarm, if there are enough requests."""

MOST = 999
"""Percent of a change that says something; beyond that there was next to nothing to compare with."""


class Tile(NamedTuple):
    """A figure that leads to its list; `note` is what it is compared with."""

    name: str
    value: str
    note: str
    url: str
    spark: Spark
    tone: str = ""
    """Of the note: `good`, `bad` or nothing."""


Column = tuple[str, Sequence[Figure]]
"""A column of the table of days: its title, and a figure for each day, the oldest first."""


def of_days(in_stock: dict[str, Any] | None, in_use: dict[str, Any] | None) -> dict[str, Any]:
    """Return the tiles of what may be seen, and the table of the same days, newest first."""
    days = last_days(DAYS)
    parts = [_animals(days, in_stock)] if in_stock else []
    if in_use:
        parts.append(_requests(in_use["days"]))
    columns = [column for _, of_part in parts for column in of_part]
    rows = list(zip(days, zip(*(figures for _, figures in columns), strict=True), strict=True)) if columns else []
    return {
        "tiles": [tile for of_part, _ in parts for tile in of_part],
        "columns": [title for title, _ in columns],
        "days": rows[::-1],
    }


def _animals(days: list[date], in_stock: dict[str, Any]) -> tuple[list[Tile], list[Column]]:
    before = days[0] - timedelta(days=DAYS)
    added, sold = stock.added_and_sold_since(before)
    there, available = in_stock["all"].value, in_stock["totals"][0].value
    added_figures = [Figure(added.get(day, 0), listed("pets_pet", added_from=day, added_to=day)) for day in days]
    sold_figures = [Figure(sold.get(day, 0), listed("pets_pet", sold_from=day, sold_to=day)) for day in days]
    grown, levels = there, []
    for figure in reversed(added_figures):
        levels.append(grown)
        grown -= figure.value
    tiles = [
        Tile("Animals", f"{there:,}", f"{available:,} available", listed("pets_pet"), Spark(levels[::-1])),
        _compared("Added, 30 days", added_figures, added, listed("pets_pet", added_from=days[0], added_to=days[-1])),
        _compared("Sold, 30 days", sold_figures, sold, listed("pets_pet", sold_from=days[0], sold_to=days[-1])),
    ]
    return tiles, [("Added", added_figures), ("Sold", sold_figures)]


def _compared(title: str, figures: list[Figure], counts: dict[date, int], url: str) -> Tile:
    total = sum(figure.value for figure in figures)
    note, tone = _change(total, sum(counts.values()) - total)
    return Tile(title, f"{total:,}", note, url, Spark([figure.value for figure in figures], kind="bars"), tone)


def _change(now: int, before: int) -> tuple[str, str]:
    """Return the change in percent and its tone; nothing if there is nothing to compare with."""
    percent = round(100 * (now - before) / before) if before else MOST + 1
    if percent > MOST:
        return "", ""
    return f"{percent:+,} %".replace("-", "\N{MINUS SIGN}"), "good" if percent > 0 else ""


def _requests(days: list[RequestCount]) -> tuple[list[Tile], list[Column]]:
    all_, before, today = sum(days, RequestCount()), sum(days[:-1], RequestCount()), days[-1]
    behind = listed("apikeys_keyusage")
    usual = TWICE * before.errors / max(before.total, 1)
    shares = [100 * count.errors / count.total if count.total else 0 for count in days]
    tiles = [
        Tile("API requests, 30 days", f"{all_.total:,}", f"{today.total:,} today so far", behind, spark_of(days)),
        Tile(
            "Errors, 30 days",
            all_.share,
            f"{today.share} today so far" if today.total >= ENOUGH else "",
            behind,
            Spark(shares[:-1], tone="bad"),
            "bad" if today.is_alarming(usual) else "",
        ),
    ]
    counts = [("Requests", "total"), ("4xx", "rejected"), ("5xx", "failed")]
    return tiles, [(title, [Figure(getattr(count, name)) for count in days]) for title, name in counts]
