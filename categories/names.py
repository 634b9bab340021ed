"""What a name in the catalogue may be; API, admin and import all ask here."""

import re
import unicodedata
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

NAME_LENGTH = 255

REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters (Unicode's category Cc) and lone surrogates (Cs)."""

INVISIBLE = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"}
"""Unicode general categories of what shows nothing by itself: separators, formats, bare marks."""

BLANK = set("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are drawn as nothing: Hangul fillers and the empty Braille cell."""


def validate_text(text: str, *, longest: int) -> None:
    """Raise `ValidationError` unless `text` has 1 to `longest` code points, one of them visible, none a control."""
    if text.isprintable() and text[:1].isalnum() and len(text) <= longest and text[0] not in BLANK:
        return  # nearly every text, in half the time
    if not 1 <= len(text) <= longest:
        message = f"must have 1 to {longest} characters."
    elif REFUSED.search(text):
        message = "must not contain control characters or lone surrogates."
    elif not any(unicodedata.category(character) not in INVISIBLE and character not in BLANK for character in text):
        message = "must contain at least one visible character."
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
