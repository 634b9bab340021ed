"""The text that a spreadsheet shows for a number (ECMA-376 part 1, section 18.8.31).

Only what is the same on every computer: no dates, and nothing that depends on its language or the width of a column.
"""

import math
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

GENERAL = "General"
BUILT_IN = {0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 49: "@"}
BUILT_IN |= dict.fromkeys((*range(15, 22), 45, 46, 47), "date or time")
BUILT_IN |= {14: "short date", 22: "short date and time"}  # which are no formats: nobody knows what they show

LARGEST = Decimal(10) ** 15  # numbers of more digits are rounded by the spreadsheet
GENERAL_WIDTH = 11  # characters of a fraction that General shows in a column that is wide enough

_TOKEN = re.compile(
    r"""
    (?P<general>General) | (?P<digit>[0#]) | (?P<point>\.) | (?P<comma>,) | (?P<percent>%) | (?P<text>@) | (?P<end>;)
    | \[\$(?P<currency>[^\]-]*)(?:-(?:[0-9A-F]{1,3}|[0-7][0-9A-F]{3}))?\]
    | (?P<colour>\[(?:Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color[ ]?[0-9]{1,2})\])
    | "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | (?P<literal>[ $+/():!^&'~{}<>=-]|[^\x00-\x7f])
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

SHOWS_TEXT = re.compile(r"([^@;]*;){0,2}[^@;]*|(.*;)?(\[\w+\]|_.)*@(_.)*", re.DOTALL)
"""Formats that show a text as it is: without a part for text, or with one that adds only a colour or room."""


class _Token(NamedTuple):
    kind: str
    text: str


Tokens = list[_Token]


class UnknownTextError(Exception):
    """What is shown cannot be known."""


class NumberFormat:
    """A format code; a blank one is General."""

    def __init__(self, code: str) -> None:
        self.code = code or GENERAL
        self.is_date = re.search("[dhmsy]", _TOKEN.sub("", self.code), re.IGNORECASE) is not None
        self._shows_text = SHOWS_TEXT.fullmatch(self.code) is not None
        self._sections = _sections(self.code.removesuffix(";@"))  # of numbers

    def text(self, text: str) -> str:
        """Return what is shown for a text; raises `UnknownTextError` if that is not the text itself."""
        if not self._shows_text:
            raise UnknownTextError
        return text

    def number(self, stored: str) -> str:
        """Return what is shown for a number; raises `UnknownTextError`, and `ValueError` if it is none."""
        if not math.isfinite(exact := float(stored)):
            raise ValueError(stored)
        value = Decimal(f"{exact:.15g}")
        if not abs(value) < LARGEST or self._sections is None:
            raise UnknownTextError
        first, *others = self._sections  # of positive numbers, negative ones, and zero
        if [token.kind for token in first] == ["text"]:
            return _general(value)
        if value < 0 and others:
            return _number(others[0], abs(value))
        shown = _number(others[1] if value == 0 and len(others) > 1 else first, abs(value))
        if value < 0:
            if not re.search("[1-9]", shown):
                raise UnknownTextError  # programs differ in the sign of what is rounded to zero
            return f"-{shown}"
        return shown


def _sections(code: str) -> list[Tokens] | None:
    """Return the tokens of each section without colours; None for a code that is not understood."""
    found = [(token.lastgroup or "literal", token) for token in _TOKEN.finditer(code)]
    if sum(len(token[0]) for _, token in found) < len(code):
        return None
    sections: list[Tokens] = [[]]
    for kind, token in found:
        if kind == "end":
            sections.append([])
        elif kind in {"currency", "quoted", "escaped"}:
            sections[-1].append(_Token("literal", token[kind]))
        elif kind != "colour":
            sections[-1].append(_Token(kind, token[0]))
    return sections


def _has(tokens: Tokens, kind: str) -> bool:
    return any(token.kind == kind for token in tokens)


def _general(value: Decimal) -> str:
    shown = format(value.normalize(), "f")
    if value != value.to_integral_value() and len(shown.lstrip("-")) > GENERAL_WIDTH:
        raise UnknownTextError
    return "0" if value == 0 else shown


def _number(tokens: Tokens, value: Decimal) -> str:
    """Return the number as the format shows it."""
    kinds = [token.kind for token in tokens]
    if "digit" not in kinds and "general" in kinds:
        return "".join(_general(value) if token.kind == "general" else token.text for token in tokens)
    if {*kinds} == {"literal"} and _joined(tokens):
        return _joined(tokens)
    if "digit" not in kinds or "general" in kinds or "text" in kinds:
        raise UnknownTextError
    value *= 100 ** kinds.count("percent")
    point = kinds.index("point") if "point" in kinds else len(tokens)
    whole, fraction = tokens[:point], tokens[point + 1 :]
    places = sum(token.kind == "digit" for token in fraction)
    rounded = format(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP), "f")
    digits, _, decimals = rounded.partition(".")
    return _whole(whole, digits.lstrip("0")) + ("." if "point" in kinds else "") + _fraction(fraction, decimals)


def _joined(tokens: Tokens) -> str:
    return "".join(token.text for token in tokens)


def _whole(tokens: Tokens, digits: str) -> str:
    """Return what is before the point. Digits fill it from the right; the first placeholder takes the rest."""
    places = [at for at, token in enumerate(tokens) if token.kind == "digit"]
    commas = [at for at, token in enumerate(tokens) if token.kind == "comma"]
    if not places:
        if commas or digits:
            raise UnknownTextError
        return _joined(tokens)
    first, last = places[0], places[-1]
    between = [token.kind for token in tokens[first:last] if token.kind not in {"digit", "comma"}]
    if any(not first < at < last for at in commas) or (commas and between):
        raise UnknownTextError  # a comma at the end divides by a thousand
    zeros = [at for at in places if tokens[at].text == "0"]
    digits = digits.rjust(sum(at >= zeros[0] for at in places) if zeros else 0, "0")
    if commas:
        return _filled(tokens, [re.sub("(?<=[0-9])(?=(?:[0-9]{3})+$)", ",", digits)])
    rest = len(digits) - len(places)
    return _filled(tokens, [digits[: rest + 1], *digits[rest + 1 :]] if rest > 0 else [""] * -rest + [*digits])


def _fraction(tokens: Tokens, decimals: str) -> str:
    """Return what is behind the point; a zero under a trailing # is not shown."""
    if _has(tokens, "comma") or _has(tokens, "point"):
        raise UnknownTextError
    places = [token.text for token in tokens if token.kind == "digit"]
    while decimals.endswith("0") and places[len(decimals) - 1] == "#":
        decimals = decimals[:-1]
    return _filled(tokens, decimals)


def _filled(tokens: Tokens, digits: Iterable[str]) -> str:
    """Return the tokens, their digits filled with these texts."""
    left = iter(digits)
    return "".join(next(left, "") if token.kind == "digit" else token.text for token in tokens if token.kind != "comma")
