"""Undoing one edit of one thing, and giving it the values of an old version. Both are edits: they can be undone too."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.text import capfirst, get_text_list

from history.conflicts import MEANWHILE, changes_since, latest_change

REASON = "Undo of change {}"
"""What the row of history of an undo says: which row it undid."""

RESTORED = "Values of change {}"


class NotUndoneError(Exception):
    """Nothing was changed; the text says why, and `details` what others changed since."""

    def __init__(self, message: str, details: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.details = [*details]


def undo_edit(row: Any, fields: Sequence[str], *, reader: Any) -> tuple[Any, list[str]]:
    """Give the thing the values that it had before the edit of this row of history, in the fields that it changed.

    Return it as it is now, and the labels of these fields. Raises `NotUndoneError`, with details for the user `reader`.
    """
    with transaction.atomic():
        thing, former = _locked(row), before(row)
        changed = edited(former, row)
        if thing is None or not changed or not {*changed} <= {*fields}:
            message = "Not undone. It was deleted since." if thing is None else "There is nothing to undo."
            raise NotUndoneError(message)
        if all(_value(thing, name) == _value(former, name) for name in changed):
            message = "Nothing changed. It was undone already."
            raise NotUndoneError(message)
        if any(_value(thing, name) != _value(row, name) for name in changed):
            message = f"Not undone. Someone changed {get_text_list(labels(thing, changed), 'and')} of “{thing}” since."
            raise NotUndoneError(message, changes_since(thing, row.history_id, reader))
        _give(thing, former, changed, REASON.format(row.history_id))
    return thing, labels(thing, changed)


def restore_version(row: Any, fields: Sequence[str], *, seen: int, reader: Any) -> Any:
    """Give the thing the values of this row of history, unless it was changed after the row `seen`, and return it.

    Raises `NotUndoneError`, as `undo_edit` does.
    """
    with transaction.atomic():
        thing = _locked(row)
        if thing is None:
            message = "Not restored. It was deleted since."
            raise NotUndoneError(message)
        if latest_change(thing) != seen:
            message = f"Not restored. Someone changed “{thing}” after you opened this version."
            raise NotUndoneError(message, changes_since(thing, seen, reader))
        changed = [name for name in fields if _value(thing, name) != _value(row, name)]
        if not changed:
            message = "Nothing changed. It has these values already."
            raise NotUndoneError(message)
        _give(thing, row, changed, RESTORED.format(row.history_id))
    return thing


def before(row: Any) -> Any:
    """Return the row of history before this one, of the same thing; None if there is none."""
    rows = type(row).objects.filter(id=row.id, history_id__lt=row.history_id)
    return rows.order_by("-history_id").first()


def undoings(rows: Sequence[Any]) -> dict[int, str]:
    """Return by number which of these rows of history of one thing, newest first, were undone, and who did it."""
    if not rows:
        return {}
    numbers = {REASON.format(row.history_id): row.history_id for row in rows}
    later = type(rows[0]).objects.filter(id=rows[0].id, history_id__gt=rows[-1].history_id)
    found = later.filter(history_change_reason__in=numbers).order_by("-history_id")
    return {numbers[reason]: actor for reason, actor in found.values_list("history_change_reason", "actor")}


def edited(former: Any, row: Any) -> list[str]:
    """Return the fields that this row of history changed; none if it is no change."""
    if former is None or row.history_type != "~":
        return []
    tracked = [field for field in row.tracked_fields if not getattr(field, "auto_now", False)]
    return [field.name for field in tracked if _value(former, field.name) != _value(row, field.name)]


def labels(thing: Any, names: Iterable[str]) -> list[str]:
    """Return what the fields are called."""
    return [str(thing._meta.get_field(name).verbose_name) for name in names]  # noqa: SLF001 - Django's documented name


def _locked(row: Any) -> Any:
    return row.instance_type.objects.select_for_update().filter(pk=row.id).first()


def _value(thing: Any, name: str) -> Any:
    return getattr(thing, thing._meta.get_field(name).attname)  # noqa: SLF001 - as above


def _give(thing: Any, source: Any, names: Sequence[str], reason: str) -> None:
    """Save these fields and no others, if they are still valid."""
    for name in names:
        setattr(thing, thing._meta.get_field(name).attname, _value(source, name))  # noqa: SLF001 - as above
    thing._change_reason = reason  # noqa: SLF001 - where simple-history looks
    fields = thing._meta.concrete_fields  # noqa: SLF001 - as above
    others = {field.name for field in fields} - {*names}
    stamps = [field.name for field in fields if getattr(field, "auto_now", False)]
    try:
        thing.full_clean(exclude=others)
        with transaction.atomic():
            thing.save(update_fields=[*names, *stamps])
    except ValidationError as error:
        sentences = [f"{capfirst(text.rstrip('.'))}." for text in error.messages]
        raise NotUndoneError("Nothing changed. " + " ".join(sentences)) from error
    except IntegrityError as error:
        message = f"Nothing changed. {MEANWHILE}"
        raise NotUndoneError(message) from error
