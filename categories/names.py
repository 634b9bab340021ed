"""What a name in the catalogue may be; API, admin and import all ask here."""

import unicodedata
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

NAME_LENGTH = 255

CONTROL, SURROGATE = "Cc", "Cs"
INVISIBLE = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"}
"""Unicode general categories of what shows nothing by itself: separators, formats, bare marks."""

BLANK = set("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are drawn as nothing: Hangul fillers and the empty Braille cell."""


def validate_text(text: str, *, longest: int) -> None:
    """Raise `ValidationError` unless `text` has 1 to `longest` code points, one of them visible, none a control."""
    if text.isascii() and text.isprintable() and not text.isspace() and 1 <= len(text) <= longest:
        return  # nearly every name; the loops below take ten times as long
    kinds = [unicodedata.category(character) for character in text]
    if not 1 <= len(text) <= longest:
        message = f"must have 1 to {longest} characters."
    elif CONTROL in kinds or SURROGATE in kinds:
        message = "must not contain control characters or lone surrogates."
    elif all(kind in INVISIBLE or character in BLANK for kind, character in zip(kinds, text, strict=True)):
        message = "must contain a visible character."
    else:
        return
    raise ValidationError(message, code="invalid_name")


def validate_name(name: str) -> None:
    """Raise `ValidationError` unless `name` has 1 to 255 code points, one of them visible, none a control.

    The name is kept exactly as it is sent: not trimmed, not normalised.
    """
    validate_text(name, longest=NAME_LENGTH)


class NameField(models.CharField):  # type: ignore[type-arg]  # cannot be subscripted when it runs
    """A column for such a name, whose form field trims nothing."""

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        """Return the form field."""
        return super().formfield(*args, **{"strip": False} | kwargs)
