"""A second, naive reading of the rules for NewPet: what must be accepted, written without looking at the code."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction

import regex  # type: ignore[import-untyped]  # it has no types

FORMATS = "\N{BRAILLE PATTERN BLANK}\ufff9-\ufffb\U00013430-\U0001343f"
"""Default-ignorable in all but name: the blank cell, annotations, joiners of hieroglyphs."""

MARKS = "".join(
    rf"\p{{Block=Combining_{block}}}"
    for block in (
        "Diacritical_Marks",
        "Diacritical_Marks_Extended",
        "Diacritical_Marks_Supplement",
        "Diacritical_Marks_For_Symbols",
        "Half_Marks",
    )
)
"""Accents without a letter."""

DRAWN_AS_NOTHING = "\N{HANGUL CHOSEONG FILLER}\N{HANGUL JUNGSEONG FILLER}\N{HANGUL FILLER}\N{HALFWIDTH HANGUL FILLER}\N{BRAILLE PATTERN BLANK}"


def is_name(text: str) -> bool:
    """1 to 255 code points, no control character, no lone surrogate, at least one visible character."""
    if len(text) == 0 or len(text) > 255:
        return False
    for character in text:
        if ord(character) < 32 or 127 <= ord(character) < 160 or 0xD800 <= ord(character) <= 0xDFFF:
            return False
    return any(shows(character) for character in text)


def shows(character: str) -> bool:
    """Spaces, controls, bare accents, and what is drawn as nothing unless a font does otherwise, do not."""
    return not regex.fullmatch(
        rf"[\p{{Z}}\p{{Cc}}\p{{Cs}}\p{{Default_Ignorable_Code_Point}}{FORMATS}{MARKS}]", character
    )


def int64(literal: str) -> int | None:
    """The int64 that a JSON number writes, by exact arithmetic; None if it writes none, or none for certain.

    With a fraction or an exponent many readers take it for a double, and from 2^53 on that may be another integer.
    """
    try:
        written = Decimal(literal)
    except InvalidOperation:  # an exponent of 20 digits
        return None
    if written and not -20 < written.adjusted() < 20:
        return None
    value = Fraction(written) if written else Fraction(0)
    plain = literal.removeprefix("-").isdecimal()
    least, most = (-(2**63), 2**63 - 1) if plain else (1 - 2**53, 2**53 - 1)
    return int(value) if value.denominator == 1 and least <= value <= most else None
