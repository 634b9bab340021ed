"""What spreadsheet programs take for months and for money, in all languages that CLDR has.

`languages.txt` is made from CLDR by `tests/files/languages.py`: Babel, which has the same, needs 3 seconds and
216 MB to read all of them. It has a line for each month, and one for money.
"""

from functools import cache
from pathlib import Path


@cache
def _lines() -> list[list[str]]:
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


@cache
def months() -> dict[str, set[int]]:
    """Return which months each name is, whole or abbreviated, in lower case and without a point at the end."""
    found: dict[str, set[int]] = {}
    for number, names in enumerate(_lines()[:12], 1):
        for name in names:
            found.setdefault(name, set()).add(number)
    return found


@cache
def currencies() -> frozenset[str]:
    """Return the letters for money, in lower case: `kr`, `chf`."""
    return frozenset(_lines()[12])
