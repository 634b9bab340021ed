"""Search in names: case, accents, the Unicode form and the kinds of blanks don't count, on both databases alike.

`fold` is the function `search_fold` on each SQLite connection. On PostgreSQL a migration of `categories` creates it.
A test compares the two, code point by code point (docs/decisions/0074).
"""

import re
from bisect import bisect_left, bisect_right
from typing import Any
from unicodedata import normalize

from django.core.exceptions import EmptyResultSet
from django.db.models import CharField, Func, Lookup, TextField

MARKS = (
    r"\u0300-\u036F\u0483-\u0489\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F"  # of Latin, Greek and Cyrillic
    r"\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7"  # points of Hebrew
    r"\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED"  # of Arabic
    r"\u08CA-\u08E1\u08E3-\u08FF"
    r"\u0711\u0730-\u074A"  # Syriac
)
"""Accents that people leave out. The vowel signs of India and Thailand and the marks of kana make other words."""

INVISIBLE = r"\u00AD\u061C\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFEFF\U000E0000-\U000E0FFF"

CHINESE_JAPANESE_KOREAN = (
    r"\u2E80-\u2FDF\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u3096\u309D-\u30FF\u3105-\u312F\u31A0-\u31BF\u31F0-\u31FF"
    r"\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7A3\uF900-\uFAFF\U00020000-\U0003FFFF"
)

DROPPED = re.compile(f"[{MARKS}{INVISIBLE}]+")
BEGINNINGS = re.compile(f"(?<! )(?=[{CHINESE_JAPANESE_KOREAN}])")
ALIKE = str.maketrans({"ß": "ss", "ς": "σ", "ı": "i", **dict.fromkeys("\u1680\u2028\u2029", " ")})  # noqa: RUF001 - ς
"""What has the same capital letter, and blanks that NFKD leaves."""


def fold(text: str) -> str:
    """Return the text as searches compare it: NFKD without accents and invisible characters, in lower case, composed.

    Blanks are single spaces. One comes before each Chinese, Japanese or Korean character too: so it begins a word,
    and the trigrams of PostgreSQL find it alone.
    """
    if text.isascii() and "  " not in text:
        return text.lower()
    plain = DROPPED.sub("", normalize("NFKD", text).lower().translate(ALIKE))
    return BEGINNINGS.sub(" ", re.sub(" {2,}", " ", normalize("NFC", plain)))


def fold_needle(needle: str) -> str:
    """Return what was typed into a search as `fold` has it, without blanks around it or control characters."""
    return fold(" ".join(needle.split()))


def place(text: str, needle: str) -> slice | None:
    """Return the part of the text that a search for `needle` finds first; None if it finds nothing."""
    folded = fold_needle(needle)
    at = fold(text).find(folded)
    if at < 0 or not folded:
        return None
    lengths = [len(fold(text[:end])) for end in range(len(text) + 1)]
    last = lengths[bisect_left(lengths, at + len(folded))]  # with the accents behind it, which have no length
    return slice(bisect_right(lengths, at) - 1, bisect_right(lengths, last) - 1)


def like(text: str) -> str:
    """Return the text as a part of a pattern of LIKE."""
    return re.sub(r"([\\%_])", r"\\\1", text)


class Folded(Func):
    """A column as `fold` has it."""

    function = "search_fold"
    output_field = TextField()


@CharField.register_lookup
@TextField.register_lookup
class Matches(Lookup):
    """`name__matches="senor"`: the names with that in them, both folded."""

    lookup_name = "matches"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Return the condition; what folds to nothing matches nothing."""
        needle = fold_needle(self.rhs)
        if not needle.strip():
            raise EmptyResultSet
        text, parameters = self.process_lhs(compiler, connection)
        return rf"search_fold({text}) LIKE %s ESCAPE '\'", (*parameters, f"%{like(needle)}%")


@TextField.register_lookup
class LikeAny(Lookup):
    """`words__like_any=[…]`: the text is like one of these patterns. PostgreSQL only."""

    lookup_name = "like_any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        text, parameters = self.process_lhs(compiler, connection)
        return f"{text} LIKE ANY (%s)", (*parameters, self.rhs)


def add_fold(connection: Any, **_signal: Any) -> None:
    """Give a new connection to SQLite the function `search_fold`."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("search_fold", 1, lambda text: text and fold(text), deterministic=True)
