"""Rules for names in the catalogue, shared by the API, the admin and the import."""

import re
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

NAME_LENGTH = 255

CONTROL = r"\x00-\x1F\x7F-\x9F"
"""Control characters (Unicode's category Cc), as a part of a character class."""

INVISIBLE = (
    r"\x20\xA0\xAD\u0300-\u036F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u1AB0-\u1AFF\u1DC0-\u1DFF"
    r"\u2000-\u200F\u2028-\u202F\u205F-\u206F\u20D0-\u20FF\u2800\u3000\u3164\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF\uFFA0"
    r"\uFFF0-\uFFFB"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Spaces, bare marks, format characters and fillers, likewise (docs/decisions/0001): separators (Z), the blocks of
combining marks, default-ignorable code points, the blank Braille cell, annotation and hieroglyph controls.
"""

NOT_ALLOWED = re.compile(f"[{CONTROL}\ud800-\udfff]")
VISIBLE = re.compile(f"[^{CONTROL}{INVISIBLE}]")


NOT_A_STRING = "must be a string."


def visible_text(value: Any, *, longest: int) -> str:
    """Return a text, kept exactly as it is sent.

    Raises `ValidationError` unless it has 1 to `longest` code points, one of them visible, none a control.
    """
    if not isinstance(value, str):
        message = NOT_A_STRING
    elif not 1 <= len(value) <= longest:
        message = f"must have 1 to {longest} characters."
    elif NOT_ALLOWED.search(value):
        message = "must not contain control characters or lone surrogates."
    elif not VISIBLE.search(value):
        message = "must contain at least one visible character."
    else:
        return value
    raise ValidationError(message)


def validate_name(name: str) -> None:
    """Raise `ValidationError` unless `name` has 1 to 255 code points, one of them visible, none a control."""
    visible_text(name, longest=NAME_LENGTH)


class NameField(models.CharField):  # type: ignore[type-arg]  # cannot be subscripted when it runs
    """A column for a name. Its form field trims nothing."""

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        return super().formfield(*args, **{"strip": False} | kwargs)
