"""How many animals are changed, deleted and added again: one statement each for a block, with its history.

A row as an object of Python takes longer than its change.
"""
# ruff: noqa: S608 - put together from constants

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from changes.models import AnyChange
from history.acting import acting
from pets.columns import each
from pets.sql import AMONG, execute, listed

VALUES = each("value ->> '{c}' AS {c}")
BECOMES = {
    "postgresql": f"jsonb_to_recordset(%s::jsonb) AS becomes(id bigint, {each('{c} {type}')})",
    "sqlite": f"(SELECT value ->> 'id' AS id, {VALUES} FROM json_each(%s)) AS becomes",
}
SET = (
    f"UPDATE pets_pet SET {each('{c} = becomes.{c}')}, updated_at = %s FROM {{becomes}} WHERE becomes.id = pets_pet.id"
)

HISTORY = f"""
INSERT INTO pets_petchange (id, {each("{c}")},
    history_type, history_date, history_user_id, actor, request_id, bulk_change_id)
SELECT id, {each("{c}")}, %s, %s, %s, %s, %s, %s FROM pets_pet WHERE id {{among}} ORDER BY id
"""
DELETE = "DELETE FROM pets_pet WHERE id {among}"

# The time it was first added is that of the first row of its history.
ADD = f"""
INSERT INTO pets_pet (id, {each("{c}")}, created_at, updated_at)
SELECT becomes.id, {each("becomes.{c}")}, COALESCE((
    SELECT f.history_date FROM pets_petchange f WHERE f.id = becomes.id AND f.history_type = '+'
    ORDER BY f.history_id LIMIT 1), %s), %s
FROM {{becomes}}
"""

# The triggers have just let them be sold today.
DAYS = """
UPDATE pets_pet SET sold_on = h.sold_on FROM pets_petchange h WHERE h.history_id {among} AND h.id = pets_pet.id
"""


def change_animals(
    values: Mapping[int, Mapping[str, Any]], now: datetime, change: AnyChange, *, days: Sequence[int] = ()
) -> None:
    """Give the animals by their ID all these values, and write the history as a part of `change`, if that is saved.

    `days` are the rows of history whose day of sale they get: not those of today, if they are sold again.
    """
    at = connection.ops.adapt_datetimefield_value(now)
    execute(SET.format(becomes=BECOMES[connection.vendor]), [at, _objects(values)])
    _set_days(days)
    _write_history("~", values, at, change)


def delete_animals(animals: Sequence[int], now: datetime, change: AnyChange) -> None:
    """Delete the animals, and write their history first."""
    _write_history("-", animals, connection.ops.adapt_datetimefield_value(now), change)
    execute(DELETE.format(among=AMONG[connection.vendor]), [listed(animals)])


def add_again(
    values: Mapping[int, Mapping[str, Any]], now: datetime, change: AnyChange, *, days: Sequence[int] = ()
) -> None:
    """Add deleted animals under the IDs that they had, with these values and `days`."""
    at = connection.ops.adapt_datetimefield_value(now)
    execute(ADD.format(becomes=BECOMES[connection.vendor]), [at, at, _objects(values)])
    _set_days(days)
    _write_history("+", values, at, change)


def _set_days(rows: Sequence[int]) -> None:
    if rows:
        execute(DAYS.format(among=AMONG[connection.vendor]), [listed(rows)])


def _write_history(did: str, numbers: Iterable[int], at: Any, change: AnyChange) -> None:
    by = [change.user_id, change.who, acting().request_id, change.pk]
    execute(HISTORY.format(among=AMONG[connection.vendor]), [did, at, *by, listed(numbers)])


def _objects(values: Mapping[int, Mapping[str, Any]]) -> str:
    return json.dumps([{"id": animal, **row} for animal, row in values.items()])
