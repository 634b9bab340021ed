"""Every encoding that Python knows is read, and the likely one is suggested."""

import codecs
import encodings
import pkgutil
from contextlib import suppress
from io import BytesIO
from itertools import product

import pytest

from files.doubts.encodings import LIKELY, known_encoding, misread, readings, was_misread
from files.readers import read
from files.readers.rows import Reading
from files.source import Source
from tests.files.conftest import rows_in


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
    "iso8859-5": ["Геша", "Мурка"],
    "mac_latin2": ["Żółwik", "Ćwirek", "Śnieżka"],
}


@pytest.mark.parametrize("encoding", NAMES)
def test_the_encoding_in_which_names_look_like_names_comes_first(encoding: str) -> None:
    found = readings([name.encode(encoding) for name in NAMES[encoding]])
    assert next(iter(found.items())) == (encoding, NAMES[encoding])


@pytest.mark.parametrize(
    "cells",
    [
        ["Fräulein", "12,50 €", "€5"],
        ["Élise", "1\xa0234,50\xa0€"],
        ["Müller\N{RIGHT SINGLE QUOTATION MARK}s Kätzchen"],
        ["Größe “XL”", "Fräulein Öhrchen"],
        ["Café", "£5"],
        ["½ Fuß", "20 °C", "\N{EN DASH} Stück"],
        ["¿Señor?", "«Bigotes"],
    ],
)
def test_signs_of_prices_and_sentences_are_no_sign_of_a_wrong_encoding(cells: list[str]) -> None:
    assert next(iter(readings([cell.encode("cp1252") for cell in cells]).items())) == ("cp1252", cells)


@pytest.mark.parametrize(("encoding", "cell"), [("mac_roman", "Señor €5"), ("cp866", "Тётя")])
def test_frames_and_apostrophes_that_begin_words_are_signs_of_it(encoding: str, cell: str) -> None:
    assert next(iter(readings([cell.encode(encoding)]))) == encoding


MISREAD = {
    "cp1252": ["Геша", "Zoë", "咪咪"],
    "cp1250": ["Żabka", "Król", "Zoë"],
    "cp1251": ["Мурка", "Müsli"],
    "mac_roman": ["Żółwik", "José", "Геша", "小白"],
    "cp850": ["Żółwik", "José", "Геша", "小白"],
    "cp437": ["Żółwik", "José", "Геша", "小白"],
    "gbk": ["Żółwik", "Геша", "小白", "タマ", "초코"],
    "cp932": ["Żółwik", "José", "Геша"],
    "cp949": ["Żółwik", "José", "小白"],
}


@pytest.mark.parametrize(("encoding", "name"), [(each, name) for each, names in MISREAD.items() for name in names])
def test_utf_8_that_was_read_in_another_encoding_is_recognised(encoding: str, name: str) -> None:
    assert misread(name.encode().decode(encoding)) == name


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "cp1251", "mac_roman", "cp850", "cp437"])
def test_a_byte_order_mark_that_was_read_as_letters_leaves_the_title(encoding: str) -> None:
    assert misread("\ufeffid".encode().decode(encoding)) == "id"


USUAL = (
    "Żółwik Król Zoë François Élise École “Étoile” Œdipe Größe Jörg Şeker Gümüş Геша Мурка Ёжик Πηνελόπη มะลิ לולו سمسم"
)
USUAL += " Nguyễn Đặng 小白 旺财 咪咪 大黄 花花 黑豹 龙龙 雪球 毛毛 タマ みけ 小太郎 黒 竜之介 초코 뽀삐 보리 콩이 🐾"


@pytest.mark.parametrize("name", USUAL.split())
def test_a_usual_name_is_not_taken_for_one_that_was_misread(name: str) -> None:
    assert misread(name) is None


@pytest.mark.parametrize("encoding", ["utf-8", *LIKELY])
def test_a_changed_name_that_an_encoding_explains_is_found(encoding: str) -> None:
    names = [name for name in USUAL.split() if not name.isascii() and _fits_all(name, encoding)]
    assert names
    for name, wrong in product(names, ["cp437", *LIKELY]):
        with suppress(UnicodeDecodeError):
            read = name.encode(encoding).decode(wrong)
            assert read == name or was_misread(name, read) or wrong == "cp932"  # which reads some bytes in two ways


def _fits_all(name: str, encoding: str) -> bool:
    return all(_fits(letter, encoding) for letter in name)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *(("Żółwik", "Żółw"), ("Zoë", "Zoe"), ("Zoë", "Zoé"), ("Müsli", "Musli"), ("Геша", "Гоша"), ("小白", "小黑")),
        *(("Геша", "Гшеа"), ("Что?", "Кто?"), ("Ё" * 200, f"{'?' * 200}x"), ("Ё?" * 100, f"{'?' * 200}x")),
    ],
)
def test_a_name_that_a_person_changed_is_none_that_was_misread(before: str, after: str) -> None:
    assert not was_misread(before, after)


def test_an_encoding_that_some_bytes_do_not_fit_is_not_offered() -> None:
    assert next(iter(LIKELY)) == "cp1252"
    assert "cp1252" not in readings(["Ё".encode("koi8-u"), b"\x81"])
