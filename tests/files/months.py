"""Makes `files/doubts/months.txt` from CLDR: `python -m tests.files.months` writes it."""

import unicodedata
from collections import Counter
from pathlib import Path

from babel import Locale, localedata

from files.doubts import dates

CONTEXTS = ("format", "stand-alone")


RARELY = 10
"""Of so many languages that have a name, one that means another month by it does not count: "mar" is March."""

WINDOWS = (3, "mrz")
"""The abbreviation of a month that CLDR lacks."""


def from_cldr() -> str:
    """Return the names of the months, in lower case, line by line."""
    names: dict[str, Counter[int]] = {}
    for locale in map(Locale.parse, localedata.locale_identifiers()):
        lists = [locale.months[context][width] for context in CONTEXTS for width in ("wide", "abbreviated")]
        for number, name in {(number, plain(name)) for months in lists for number, name in months.items()}:
            names.setdefault(name, Counter())[number] += not locale.territory
    months: list[set[str]] = [set() for _ in range(12)]
    for name, counted in names.items():
        for number, count in counted.items():
            if name and not any(map(str.isdigit, name)) and count * RARELY >= counted.total():
                months[number - 1].add(name)
    months[WINDOWS[0] - 1].add(WINDOWS[1])
    return "".join("\t".join(sorted(line)) + "\n" for line in months)


def plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'").strip("\u200b\u200f. ")


if __name__ == "__main__":
    Path(dates.__file__).with_name("months.txt").write_text(from_cldr(), encoding="utf-8")
