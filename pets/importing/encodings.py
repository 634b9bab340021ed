"""The encodings that a file can have, how it would read in the likely ones, and UTF-8 that was misread."""

import codecs
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

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
}
"""What a file that is not UTF-8 is likely in: the language and the name of each, those that are met most first."""

NO_TEXT = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
"""Encodings of Python that no program saves a file in."""

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
            if all(map(str.isprintable, read)):
                found[encoding] = read
    return dict(sorted(found.items(), key=lambda reading: sum(map(_odd, reading[1]))))


def _odd(text: str) -> int:
    """Return how much a text looks as if it was read in a wrong encoding."""
    pairs = [pair for pair in pairwise(f" {text}") if not "".join(pair).isascii()]
    return sum(
        2 * (not here.isascii() and not here.isalpha())
        + 2 * (before.islower() and here.isupper())
        + (before.isalpha() and here.isalpha() and _oddity(before, here))
        for before, here in pairs
    )


def _oddity(before: str, here: str) -> int:
    """Return 3 for letters of two scripts, 1 for two Latin letters with marks, which few names have, and else 0."""
    if _script(before) != _script(here):
        return 3
    return not before.isascii() and not here.isascii() and _script(here) == "LATIN"


def _script(letter: str) -> str:
    script = unicodedata.name(letter, "?").split()[0]
    return "CJK" if script in ONE_SCRIPT else script


LOST = "?\N{REPLACEMENT CHARACTER}"  # what a letter becomes that an encoding does not have


def _byte_of(encoding: str) -> dict[str, int]:
    """Return the byte of each character; of a byte without one, what Windows and LibreOffice read it as."""
    characters = [bytes([byte]).decode(encoding, "ignore") for byte in range(256)]
    return {
        character: byte
        for byte, known in enumerate(characters)
        for character in ([known] if known else [chr(byte), chr(0xF100 + byte)])
    }


MISREAD_IN = [_byte_of(encoding) for encoding in ("cp1252", "cp1250", "cp1251")]
"""The encodings in which spreadsheet programs read UTF-8 that has no byte order mark."""

_LEADS, _NEXTS = (
    re.escape("".join(sorted({character for of in MISREAD_IN for character, byte in of.items() if byte in some})))
    for some in (range(0xC2, 0xF5), range(0x80, 0xC0))
)
SUSPECT = f"[{_LEADS}][{_NEXTS}]"  # matches what `misread` knows, and little else, for Python and for both databases
LOSSY = f"{SUSPECT}|[{LOST}]"  # matches what `was_misread` knows


def misread(text: str) -> str | None:
    """Return what a text says that is UTF-8 read in another encoding: Геша for Ð“ÐµÑˆÐ°; None for any other."""
    if re.search(SUSPECT, text):
        for byte_of in MISREAD_IN:
            with suppress(KeyError, UnicodeDecodeError):
                return bytes(byte_of[character] for character in text).decode()
    return None


def was_misread(before: str, after: str) -> bool:
    """Return whether `after` is what an encoding made of `before`: UTF-8 that was misread, or with lost letters."""
    if before.isascii() or before == after or _plain_part(before) != _plain_part(after):
        return False
    patterns = (_as_bytes(after, byte_of) for byte_of in MISREAD_IN)
    return any(pattern and re.fullmatch(pattern, before.encode(), re.DOTALL) for pattern in patterns)


def _plain_part(text: str) -> list[str]:
    return [character for character in text if character.isascii() and character not in LOST]


def _as_bytes(text: str, byte_of: dict[str, int]) -> bytes | None:
    """Return a pattern of the bytes that a text was; None if the encoding does not have all of its letters."""
    pieces = []
    for piece in re.split(f"([{LOST}]+)", text):
        if piece[:1] and piece[0] in LOST:
            pieces.append(b"[\x80-\xff?]{%d,}" % len(piece))
        elif all(character in byte_of for character in piece):
            pieces.append(re.escape(bytes(byte_of[character] for character in piece)))
        else:
            return None
    return b"".join(pieces)
