"""Text on its way through a spreadsheet: the escapes of XLSX."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from files.spreadsheets import escape, unescape
from tests.exploring import STEADY

TRICKY = st.lists(
    st.sampled_from(["_", "x", "_x", "0041", "005F", "005f", "FFFF", "\uffff", "\x00", "\r", "\ud800", "é", "_x0041_"])
).map("".join)
ANY = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("Rex", "Rex"),
        ("Señor Bigotes 🐶", "Señor Bigotes 🐶"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\uffff", "_xFFFF_"),
        ("\ufffe", "_xFFFE_"),
        ("\r\x00", "_x000D__x0000_"),
        ("\ud800", "_xD800_"),
        ("_x0041_", "_x005F_x0041_"),
        ("_x00e9_", "_x005F_x00e9_"),
        ("_x0041_x0042_", "_x005F_x0041_x005F_x0042_"),
        ("_x005F_", "_x005F_x005F_"),
        ("_x0041\uffff", "_x005F_x0041_xFFFF_"),
        ("_x0041", "_x0041"),
        ("_X0041_", "_X0041_"),
        ("_x00G1_", "_x00G1_"),
        ("x005F_", "x005F_"),
    ],
)
def test_what_xml_forbids_and_what_looks_like_an_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    assert unescape(escaped) == text


def test_either_case_is_read() -> None:
    assert unescape("_x00E9__x00e9_") == "éé"


@settings(STEADY)
@given(TRICKY | ANY)
@example("_x0041\uffffx0042_")
def test_every_text_comes_back(text: str) -> None:
    assert unescape(escape(text)) == text


@settings(STEADY)
@given(TRICKY | ANY)
def test_nothing_is_left_that_xml_forbids(text: str) -> None:
    allowed = {"\t", "\n"}
    assert [
        character
        for character in escape(text)
        if not ("\x20" <= character <= "\ud7ff" or "\ue000" <= character <= "\ufffd" or character > "\uffff")
        and character not in allowed
    ] == []
