"""Values of fields in words, and numbers of rows as addresses and forms have them."""

import re
from datetime import datetime
from typing import Any

from django.core.exceptions import ObjectDoesNotExist

from history.times import to_the_minute


def shown(thing: Any, name: str) -> str:
    """Return the value of a field in words; nothing for nothing."""
    field = thing._meta.get_field(name)  # noqa: SLF001 - Django's documented name
    value = getattr(thing, field.attname)
    if value in {None, ""}:
        return ""
    if field.is_relation:
        try:
            return str(getattr(thing, name) or f"deleted ({value})")
        except ObjectDoesNotExist:
            return f"deleted ({value})"
    if isinstance(value, datetime):
        return to_the_minute(value)
    return str(getattr(thing, f"get_{name}_display")() if field.choices else value)


def in_words(thing: Any, name: str, value: Any) -> str:
    """Return a value that was typed or chosen for the field as `shown` writes it."""
    if isinstance(value, datetime):
        return to_the_minute(value)
    choices = dict(thing._meta.get_field(name).flatchoices)  # noqa: SLF001 - as above
    return str(choices.get(value, value) or "")


def row_number(text: str) -> int | None:
    """Return the number of a row; None for what is no number, or is too large for one that we gave."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None
