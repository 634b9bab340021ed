"""Every encoding that Python knows is read, and the likely one is suggested."""

import codecs
import encodings
import pkgutil
from io import BytesIO

import pytest

from pets.importing.encodings import LIKELY, known_encoding, readings
from pets.importing.readers import read
from pets.importing.readers.rows import Reading
from pets.importing.source import Source
from tests.pets.importing.conftest import rows_in


def test_utf_32_of_the_other_byte_order_is_read() -> None:
    content = codecs.BOM_UTF32_BE + "name,category\nŻółwik,Dogs\n".encode("utf-32-be")
    assert list(rows_in(read(Source("a", BytesIO(content)), Reading()))) == [
        (2, {"name": "Żółwik", "category": "Dogs"})
    ]


def _encodings() -> list[str]:
    found = set()
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            found.add(known_encoding(module.name))
        except LookupError:
            continue
    return sorted(found - {"utf-16-be", "utf-16-le"})


@pytest.mark.parametrize("encoding", _encodings())
def test_every_encoding_of_python_is_read(encoding: str) -> None:
    letters = [chr(code) for code in (*range(0xC0, 0x180), *range(0x410, 0x450), *range(0x3B1, 0x3CA), 0x5C0F, 0xAC00)]
    name = "".join([letter for letter in letters if _fits(letter, encoding)][:40]) or "Rex"
    source = Source("a", BytesIO(f"name,category\n{name},Dogs\n".encode(encoding)))
    assert list(rows_in(read(source, Reading(encoding=encoding)))) == [(2, {"name": name, "category": "Dogs"})]


def _fits(letter: str, encoding: str) -> bool:
    try:
        return letter.encode(encoding).decode(encoding) == letter
    except UnicodeError:
        return False


NAMES = {
    "cp1250": ["Żółwik", "Ćwirek", "Śnieżka"],
    "cp1251": ["Геша", "Мурка"],
    "cp1252": ["Zoë", "Señor Bigotes", "München"],
    "cp1253": ["Πηνελόπη", "Λεωνίδας"],
    "cp932": ["小白", "タマ", "みけ"],
    "gb18030": ["小白", "旺财"],
    "koi8-u": ["Геша", "Мурка"],
    "cp866": ["Геша", "Мурка"],
    "iso8859-2": ["Żółwik", "Ćwirek", "Śnieżka"],
}


@pytest.mark.parametrize("encoding", NAMES)
def test_the_encoding_in_which_names_look_like_names_comes_first(encoding: str) -> None:
    found = readings([name.encode(encoding) for name in NAMES[encoding]])
    assert next(iter(found.items())) == (encoding, NAMES[encoding])


def test_an_encoding_that_some_bytes_do_not_fit_is_not_offered() -> None:
    assert next(iter(LIKELY)) == "cp1252"
    assert "cp1252" not in readings(["Ё".encode("koi8-u"), b"\x81"])
