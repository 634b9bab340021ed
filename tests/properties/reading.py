"""A second, naive reading of the rules for NewPet: what must be accepted, written without looking at the code."""

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
