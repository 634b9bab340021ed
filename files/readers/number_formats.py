"""The text that a spreadsheet shows for a number (ECMA-376 part 1, section 18.8.31).

Only what is the same on every computer: nothing that depends on its language, its region or the width of a column.
"""

import math
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

GENERAL = "General"
BUILT_IN = {0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 20: "h:mm"}
BUILT_IN |= {14: "short date", 21: "h:mm:ss", 22: "short date and time", 45: "mm:ss", 49: "@"}
BUILT_IN |= {11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM"}
BUILT_IN |= {19: "h:mm:ss AM/PM", 46: "[h]:mm:ss", 47: "mmss.0", 48: "##0.0E+0"}
"""Those that differ by language or region are missing, or are words that are no format."""

LARGEST = Decimal(10) ** 15  # numbers of more digits are rounded by the spreadsheet
GENERAL_WIDTH = 11  # characters of a fraction that General shows in a column that is wide enough

_TOKEN = re.compile(
    r"""
    (?P<general>General) | (?P<digit>[0#]) | (?P<point>\.) | (?P<comma>,) | (?P<percent>%) | (?P<text>@) | (?P<end>;)
    | (?P<date>y+|m+|d+|h+|s+) | \[\$(?P<currency>[^\]-]*)(?:-(?:[0-9A-F]{1,3}|[0-7][0-9A-F]{3}))?\]
    | (?P<colour>\[(?:Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color[ ]?[0-9]{1,2})\])
    | "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | (?P<literal>[ $+/():!^&'~{}<>=-]|[^\x00-\x7f])
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str


Section = list[_Token]


class UnknownTextError(Exception):
    """What is shown cannot be known."""


class NumberFormat:
    """A format code; a blank one is General."""

    def __init__(self, code: str, *, from_1904: bool = False) -> None:
        """`from_1904`: days are counted from then, as older programs for the Macintosh did."""
        self.code = code = code or GENERAL
        self._from_1904 = from_1904
        sections = _sections(code)
        self._text = next((each for each in sections or [] if _has(each, "text")), None)
        if sections and len(sections) == 4:
            self._text = sections.pop()
        self._sections = [each for each in sections if each is not self._text] if sections else None

    def text(self, text: str) -> str:
        """Return what is shown for a text; raises `UnknownTextError` if that is not the text itself."""
        if self._text is not None and [token.kind for token in self._text] != ["text"]:
            raise UnknownTextError
        return text

    def number(self, stored: str) -> str:
        """Return what is shown for a number; raises `UnknownTextError`, and `ValueError` if it is none."""
        if not math.isfinite(exact := float(stored)):
            raise ValueError(stored)
        value = Decimal(f"{exact:.15g}")
        if not abs(value) < LARGEST or self._sections is None:
            raise UnknownTextError
        if not self._sections:  # the format of text
            return _general(value)
        section = self._section(value)
        if _has(section, "date"):
            return _date(section, value, from_1904=self._from_1904)
        shown = _number(section, abs(value))
        if value < 0 and section is self._sections[0]:
            if not re.search("[1-9]", shown):
                raise UnknownTextError  # programs differ in the sign of what is rounded to zero
            return f"-{shown}"
        return shown

    def _section(self, value: Decimal) -> Section:
        sections = self._sections or []
        if value < 0 and len(sections) > 1:
            return sections[1]
        return sections[2] if value == 0 and len(sections) > 2 else sections[0]


def _sections(code: str) -> list[Section] | None:
    """Return the tokens of each section without colours, None for a code that is not understood."""
    sections: list[Section] = [[]]
    tokens = [*_TOKEN.finditer(code)]
    if sum(len(token[0]) for token in tokens) < len(code):
        return None
    for token in tokens:
        kind = token.lastgroup or "literal"
        if kind == "end":
            sections.append([])
        elif kind in {"currency", "quoted", "escaped"}:
            sections[-1].append(_Token("literal", token[kind]))
        elif kind != "colour":
            sections[-1].append(_Token(kind, token[0]))
    return sections


def _has(section: Section, kind: str) -> bool:
    return any(token.kind == kind for token in section)


def _general(value: Decimal) -> str:
    shown = format(value.normalize(), "f")
    if value != value.to_integral_value() and len(shown.lstrip("-")) > GENERAL_WIDTH:
        raise UnknownTextError
    return "0" if value == 0 else shown


def _number(section: Section, value: Decimal) -> str:
    """Return the number as the section shows it."""
    kinds = [token.kind for token in section]
    if "digit" not in kinds and "general" in kinds:
        return "".join(_general(value) if token.kind == "general" else token.text for token in section)
    if {*kinds} == {"literal"} and _joined(section):
        return _joined(section)
    if "digit" not in kinds or "general" in kinds or "text" in kinds:
        raise UnknownTextError
    value *= 100 ** kinds.count("percent")
    point = kinds.index("point") if "point" in kinds else len(section)
    whole, fraction = section[:point], section[point + 1 :]
    places = sum(token.kind == "digit" for token in fraction)
    rounded = format(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP), "f")
    digits, _, decimals = rounded.partition(".")
    return _whole(whole, digits.lstrip("0")) + ("." if "point" in kinds else "") + _fraction(fraction, decimals)


def _joined(tokens: Section) -> str:
    return "".join(token.text for token in tokens)


def _whole(tokens: Section, digits: str) -> str:
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


def _fraction(tokens: Section, decimals: str) -> str:
    """Return what is behind the point; a zero under a trailing # is not shown."""
    if _has(tokens, "comma") or _has(tokens, "point"):
        raise UnknownTextError
    places = [token.text for token in tokens if token.kind == "digit"]
    while decimals.endswith("0") and places[len(decimals) - 1] == "#":
        decimals = decimals[:-1]
    return _filled(tokens, decimals)


def _filled(tokens: Section, digits: Iterable[str]) -> str:
    """Return the tokens, their digits filled with these texts."""
    left = iter(digits)
    return "".join(next(left, "") if token.kind == "digit" else token.text for token in tokens if token.kind != "comma")


FORMS = {"yy": "%y", "yyyy": "%Y", "mm": "%m", "dd": "%d", "hh": "%H", "ss": "%S", "MM": "%M"}
"""What a moment shows; MM are minutes. One letter is the same without a leading zero."""


def _date(section: Section, value: Decimal, *, from_1904: bool) -> str:
    """Return the moment as the section shows it."""
    if any(token.kind not in {"date", "literal", "point", "comma"} for token in section):
        raise UnknownTextError
    parts = _letters(section)
    moment = _moment(value, from_1904=from_1904, time_only=not any(part[:1] in {"y", "m", "d"} for part in parts))
    if moment.microsecond and {"s", "ss"}.intersection(parts):
        raise UnknownTextError  # programs differ in how they round it
    return "".join(_part(moment, part) if part else token.text for part, token in zip(parts, section, strict=True))


def _letters(section: Section) -> list[str]:
    """Return the letters of each token of a date, MM for minutes and "" for what is no letter of a date."""
    letters = [token.text.lower() if token.kind == "date" else "" for token in section]
    dated = [at for at, text in enumerate(letters) if text]
    for before, at, after in zip([-1, *dated], dated, [*dated[1:], -1], strict=False):
        beside = (letters[before][:1] if before >= 0 else "", letters[after][:1] if after >= 0 else "")
        if letters[at] in {"m", "mm"} and (beside[0] == "h" or beside[1] == "s"):
            letters[at] = letters[at].upper()
    return letters


def _part(moment: datetime, letters: str) -> str:
    letters = {"y": "yy", "yyy": "yyyy"}.get(letters, letters)
    if len(letters) == 1:
        return str(int(moment.strftime(FORMS[letters * 2])))
    if letters not in FORMS:
        raise UnknownTextError  # names of months and days are of a language
    return f"{moment.year:04}" if letters == "yyyy" else moment.strftime(FORMS[letters])


def _moment(value: Decimal, *, from_1904: bool, time_only: bool) -> datetime:
    """Return the date and time of a number of days."""
    first = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)  # noqa: DTZ001 - it has no time zone
    earliest = 0 if from_1904 or time_only else 61  # for days before it, programs differ: 1900 was no leap year
    if not earliest <= value:
        raise UnknownTextError
    try:
        return first + timedelta(milliseconds=int((value * 86_400_000).to_integral_value(ROUND_HALF_UP)))
    except OverflowError:
        raise UnknownTextError from None
