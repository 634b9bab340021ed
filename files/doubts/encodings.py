"""The encodings that a file can have, how it would read in the likely ones, and UTF-8 that was misread."""

import codecs
import functools
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress

LIKELY = {
    "cp1252": ("Western", "Windows-1252"),
    "cp1250": ("Central European", "Windows-1250"),
    "cp1251": ("Cyrillic", "Windows-1251"),
    "cp1253": ("Greek", "Windows-1253"),
    "cp1254": ("Turkish", "Windows-1254"),
    "cp1257": ("Baltic", "Windows-1257"),
    "cp1255": ("Hebrew", "Windows-1255"),
    "cp1256": ("Arabic", "Windows-1256"),
    "cp932": ("Japanese", "Shift JIS"),
    "gb18030": ("Chinese", "GB 18030"),
    "big5": ("Chinese, traditional", "Big5"),
    "cp949": ("Korean", "Windows-949"),
    "iso8859-2": ("Central European", "ISO 8859-2"),
    "koi8-u": ("Cyrillic", "KOI8-U"),
    "cp866": ("Cyrillic, DOS", "Code page 866"),
    "cp852": ("Central European, DOS", "Code page 852"),
    "cp850": ("Western, DOS", "Code page 850"),
    "mac_roman": ("Mac", "Mac Roman"),
    "iso8859-15": ("Western", "ISO 8859-15"),
    "iso8859-5": ("Cyrillic", "ISO 8859-5"),
    "iso8859-7": ("Greek", "ISO 8859-7"),
    "mac_cyrillic": ("Cyrillic, Mac", "Mac Cyrillic"),
    "mac_latin2": ("Central European, Mac", "Mac Latin 2"),
    "euc_jp": ("Japanese", "EUC-JP"),
    "cp874": ("Thai", "Windows-874"),
}
"""What a file that is not UTF-8 is likely in: the language and the name of each, those that are met most first."""

OF_SEVERAL_BYTES = {"cp932", "gb18030", "gbk", "big5", "cp949", "euc_jp"}

NO_TEXT = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
"""Encodings of Python that no program saves a file in."""

NO_BREAK = "\N{NO-BREAK SPACE}"  # is in prices, and not printable for Python
OPENING = "\N{LEFT SINGLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}«¿¡"

ONE_SCRIPT = {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "CJK"}  # what Japanese mixes in a word


def known_encoding(name: str) -> str:
    """Return an encoding by the name that Python has for it, such as cp1250 for windows-1250; raises `LookupError`."""
    codec = codecs.lookup(name)
    if codec.name in NO_TEXT or codec.incrementaldecoder is None:
        raise LookupError(name)
    "a".encode(codec.name)  # raises if it is none of text
    return codec.name


def readings(texts: Iterable[bytes]) -> dict[str, list[str]]:
    """Return how texts without control characters read in each likely encoding that they fit, the likeliest first."""
    waiting = list(texts)
    found = {}
    for encoding in LIKELY:
        with suppress(UnicodeDecodeError):
            read = [text.decode(encoding) for text in waiting]
            if all(text.replace(NO_BREAK, " ").isprintable() for text in read):
                found[encoding] = read
    return dict(sorted(found.items(), key=lambda reading: sum(map(_odd, reading[1]))))


def _odd(text: str) -> int:
    """Return how much a text looks as if it was read in a wrong encoding."""
    places = zip(f" {text}", text, f"{text} "[1:], strict=False)
    return sum(
        2 * _is_odd_sign(before, here, after)
        + 2 * (before.islower() and here.isupper())
        + (before.isalpha() and here.isalpha() and _oddity(before, here))
        + _is_rare(here)
        for before, here, after in places
        if not (before + here).isascii()
    )


def _is_odd_sign(before: str, here: str, after: str) -> bool:
    """Return whether it is a sign beside a letter or another sign, and neither an apostrophe nor opens a quote."""
    if here.isascii() or here.isalpha() or (here == "\N{RIGHT SINGLE QUOTATION MARK}" and before.isalnum()):
        return False
    if "\u2500" <= here <= "\u25ff":  # what DOS draws frames and boxes of
        return True
    return _joins(before) or (_joins(after) and here not in OPENING)


def _joins(beside: str) -> bool:
    return beside.isalpha() or not (beside.isascii() or beside.isspace())


def _oddity(before: str, here: str) -> int:
    """Return 3 for letters of two scripts, 1 for two Latin letters with marks, which few names have, and else 0."""
    if _script(before) != _script(here):
        return 3
    return not before.isascii() and not here.isascii() and _script(here) == "LATIN"


def _script(letter: str) -> str:
    script = unicodedata.name(letter, "?").split()[0]
    return "CJK" if script in ONE_SCRIPT else script


COMMON = {
    "gb2312": range(0xB0, 0xD8),
    "big5": range(0xA4, 0xC7),
    "cp932": range(0x88, 0x99),
    "euc_kr": range(0xB0, 0xC9),
}
"""The first bytes of the letters that Chinese, Japanese and Korean use most, which each of these has in front."""


def _is_rare(letter: str) -> bool:
    """Return whether it is a Chinese character or a Korean syllable that few names have."""
    if not re.fullmatch(WIDE, letter):
        return False
    return not any(letter.encode(encoding, "replace")[0] in first for encoding, first in COMMON.items())


FIRST_WIDE = "\u3000"
WIDE = "[\u3400-\u9fff\uac00-\ud7a3\uff61-\uff9f]"
LOST = "\N{REPLACEMENT CHARACTER}"  # what a letter becomes that an encoding does not have, if it is no `?`


@functools.cache
def _byte_of(encoding: str) -> dict[str, int]:
    """Return the byte of each character; of a byte without one, what Windows and LibreOffice read it as."""
    characters = [bytes([byte]).decode(encoding, "ignore") for byte in range(256)]
    return {
        character: byte
        for byte, known in enumerate(characters)
        for character in ([known] if known else [chr(byte), chr(0xF100 + byte)])
    }


def _as_bytes(text: str, encoding: str) -> bytes | None:
    """Return what a text was before it was read in an encoding; None if the encoding does not have all its letters."""
    try:
        if encoding in OF_SEVERAL_BYTES:
            return text.encode(encoding)
        byte_of = _byte_of(encoding)
        return bytes(byte_of[character] for character in text)
    except (KeyError, UnicodeEncodeError):
        return None


MISREAD_IN = ("cp1252", "cp1250", "cp1251", "mac_roman", "cp850", "cp437")
MISREAD_WIDE = ("gbk", "cp932", "cp949")
"""The encodings in which programs read UTF-8 that has no byte order mark."""

_LEADS, _NEXTS = (
    re.escape(
        "".join(sorted({letter for name in MISREAD_IN for letter, byte in _byte_of(name).items() if byte in some}))
    )
    for some in (range(0xC2, 0xF5), range(0x80, 0xC0))
)
ASCII = re.compile(r"[\x00-\x7f]+")
SUSPECT = f"[{_LEADS}][{_NEXTS}]|{WIDE}"  # matches what `misread` knows, for Python and for both databases


def misread(text: str) -> str | None:
    """Return what a text says that is UTF-8 read in another encoding: Геша for Ð“ÐµÑˆÐ°; None for any other."""
    if re.search(SUSPECT, text):
        for encoding in (*MISREAD_IN, *MISREAD_WIDE):
            with suppress(UnicodeDecodeError):
                likely = (_as_bytes(text, encoding) or b"\xff").decode().removeprefix("\ufeff")
                if _odd(likely) < _odd(text):
                    return likely
    return None


def was_misread(before: str, after: str) -> bool:
    """Return whether `after` is what was read of `before` in a wrong encoding, perhaps with lost letters."""
    if before.isascii() or ASCII.sub("", before) == ASCII.sub("", after):
        return False  # as most names that a person changed
    if LOST in after or _has_lost(before, after):
        return True
    rest = iter(after)
    swallows = len(after) < len(before) or max(after) >= FIRST_WIDE  # an encoding of several bytes takes in ASCII too
    if not swallows and not all(letter in rest for letter in before if letter.isascii()):
        return False
    texts = {before.encode(), *filter(None, (_as_bytes(before, encoding) for encoding in LIKELY))}
    return not texts.isdisjoint(_as_bytes(after, encoding) for encoding in (*LIKELY, *MISREAD_IN, *MISREAD_WIDE))


def _has_lost(before: str, after: str) -> bool:
    """Return whether some letters became one or more `?` each and all else is the same."""
    pieces, read = (re.split(r"([^\x00-\x3e@-\x7f]+)", text) for text in (before, after))
    return (
        after.count("?") > before.count("?")
        and pieces[::2] == read[::2]  # what cannot be lost
        and all(len(old) <= len(new) and {*new} <= {*old, "?"} for old, new in zip(pieces, read, strict=True))
    )
