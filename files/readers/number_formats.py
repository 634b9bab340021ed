"""The text that a spreadsheet shows for a number (ECMA-376 part 1, section 18.8.31).

Only what is the same on every computer: no dates, and nothing that depends on its language or the width of a column.
"""

import math
import re
from decimal import ROUND_HALF_UP, Decimal

GENERAL = "General"
BUILT_IN = {0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 49: "@"}
BUILT_IN |= dict.fromkeys((*range(15, 22), 45, 46, 47), "date or time")
BUILT_IN |= {14: "short date", 22: "short date and time"}  # which are no formats: nobody knows what they show

LARGEST = Decimal(10) ** 15  # numbers of more digits are rounded by the spreadsheet
GENERAL_WIDTH = 11  # characters of a fraction that General shows in a column that is wide enough

LITERAL = (
    r"(?:\[\$[^\]-]*(?:-(?:[0-9A-F]{1,3}|[0-7][0-9A-F]{3}))?\]"  # a currency, with its country
    r"|\[(?:Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color ?[0-9]{1,2})\]"
    r"|\"[^\"]*\"|\\.|[ $%+/():!^&'~{}<>=-]|[^\x00-\x7f])"
)
LITERAL_OR_PLACE = re.compile(f"{LITERAL}|[0#]", re.IGNORECASE | re.DOTALL)
LITERAL_OR_GENERAL = re.compile(f"{LITERAL}|General", re.IGNORECASE | re.DOTALL)
SHAPE = re.compile(
    rf"(?P<before>{LITERAL}*)(?P<whole>General|\#,\#\#0|[0#](?:{LITERAL}*[0#])*)(?:\.(?P<places>[0#]+))?"
    rf"(?P<after>{LITERAL}*)(?P<others>;(?:{LITERAL}|General|[0\#.,@;])*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Formats whose first section shows a number everywhere alike; it is that of all numbers if there are no others."""

SHOWS_TEXT = re.compile(r"([^@;]*;){0,2}[^@;]*|(.*;)?(\[\w+\]|_.)*@(_.)*", re.DOTALL)
"""Formats that show a text as it is: without a part for text, or with one that adds only a colour or room."""


class UnknownTextError(Exception):
    """What is shown cannot be known."""


class NumberFormat:
    """A format code; a blank one is General."""

    def __init__(self, code: str) -> None:
        self.code = code or GENERAL
        self.is_date = re.search("[dhmsy]", LITERAL_OR_GENERAL.sub("", self.code), re.IGNORECASE) is not None
        self._shows_text = SHOWS_TEXT.fullmatch(self.code) is not None
        self._shape = SHAPE.fullmatch(GENERAL if self.code == "@" else self.code.removesuffix(";@"))

    def text(self, text: str) -> str:
        """Return what is shown for a text; raises `UnknownTextError` if that is not the text itself."""
        if not self._shows_text:
            raise UnknownTextError
        return text

    def number(self, stored: str) -> str:
        """Return what is shown for a number; raises `UnknownTextError`, and `ValueError` if it is none."""
        if not math.isfinite(exact := float(stored)):
            raise ValueError(stored)
        value, shape = Decimal(f"{exact:.15g}"), self._shape
        if not abs(value) < LARGEST or shape is None or (shape["others"] and value <= 0):
            raise UnknownTextError
        before, whole, places, after = shape.group("before", "whole", "places", "after")
        percents = LITERAL_OR_PLACE.findall(before + whole + after).count("%")
        if whole.title() == GENERAL and (places or percents):
            raise UnknownTextError
        digits = _digits(abs(value) * 100**percents, whole, places or "")
        if value < 0 and not re.search("[1-9]", digits):
            raise UnknownTextError  # programs differ in the sign of what is rounded to zero
        return f"{'-' if value < 0 else ''}{_filled(before)}{digits}{_filled(after)}"


def _digits(value: Decimal, whole: str, places: str) -> str:
    """Return the digits of a number with the literals between them; a zero under a trailing # is not shown."""
    if whole.title() == GENERAL:
        return _general(value)
    rounded = format(value.quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP), "f")
    digits, _, decimals = rounded.partition(".")
    while decimals.endswith("0") and places[len(decimals) - 1] == "#":
        decimals = decimals[:-1]
    shown = f"{int(digits):,}" if "," in whole else _filled(whole, digits.lstrip("0"))
    return f"{shown}.{decimals}" if places else shown


def _general(value: Decimal) -> str:
    shown = format(value.normalize(), "f")
    if value != value.to_integral_value() and len(shown) > GENERAL_WIDTH:
        raise UnknownTextError
    return "0" if value == 0 else shown


def _filled(code: str, digits: str = "") -> str:
    """Return the literals with digits in their places, filled from the right; the first place takes the rest."""
    parts = LITERAL_OR_PLACE.findall(code)
    places = [part for part in parts if part in {"0", "#"}]
    digits = digits.rjust(len(places) - places.index("0") if "0" in places else 0, "0")
    rest = len(digits) - len(places)
    left = iter([digits[: rest + 1], *digits[rest + 1 :]] if rest > 0 else [""] * -rest + [*digits])
    return "".join(next(left) if part in {"0", "#"} else _literal(part) for part in parts)


def _literal(part: str) -> str:
    """Return what a literal shows: a colour nothing, a currency its sign."""
    if part.startswith("["):
        return part[2:-1].partition("-")[0] if part.startswith("[$") else ""
    return part[1:] if part.startswith("\\") else part.strip('"')
