"""Names are found however they are typed: case, accents, the Unicode form and blanks don't count, in every search."""

# ruff: noqa: RUF001 - letters that look alike are what it is about

import sys
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from typing import Any
from unicodedata import category, normalize

import pytest
from django.db import connection
from django.test import Client
from hypothesis import example, given, settings
from hypothesis import strategies as st

from database.search import fold, fold_needle, place
from pets.admin.listing import matching
from pets.models import Pet
from tests.exploring import STEADY
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.staff.conftest import browser, member

postgresql_only = pytest.mark.postgresql("SQLite has the function in Python")
in_python = pytest.mark.sqlite("it needs no database")

YOUNGER_THAN_UNICODE_14 = [
    (0x1C89, 0x1C8A), (0xA7CB, 0xA7DD), (0x105C0, 0x105FF), (0x10D40, 0x10D8F), (0x11380, 0x113FF),
    (0x16100, 0x1613F), (0x16D40, 0x16D7F), (0x1CC00, 0x1CEBF), (0x1E030, 0x1E08F),
]  # fmt: skip
"""Letters with a case or another form that PostgreSQL or Python perhaps don't know yet."""

FOUND = [
    ("Мурка", "мурка"),
    ("МУРКА", "урк"),
    ("Señor Bigotes", "SEÑOR"),
    ("Señor Bigotes", "senor"),
    ("Senor Bigotes", "señor"),
    ("Sen\u0303or", "se\xf1or"),
    ("Se\xf1or", "en\u0303o"),
    ("Ζωή", "ΖΩΗ"),
    ("ΟΔΥΣΣΕΥΣ", "οδυσσεύς"),
    ("Straße", "STRASSE"),
    ("IŞIK", "ışık"),
    ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}zmir", "izmir"),
    ("\uff32\uff45\uff58", "rex"),
    ("Rex", "\uff32\uff25\uff38"),
    ("\ufb01sh", "FISH"),
    ("Mr\xa0Fox", "mr fox"),
    ("Mr  Fox", "mr fox"),
    ("Mr Fox", "mr \u3000 fox"),
    ("soft\xadly", "softly"),
    ("\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f", "\u0645\u062d\u0645\u062f"),
    ("\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
    ("\u0958\u0932\u092e", "\u0915\u093c\u0932"),
    ("我的小花猫", "小花"),
    ("我的小花猫", "花"),
    ("小 花", "小花"),
    ("Rex小花", "x小"),
    ("ﾎﾟﾁ", "ポチ"),
    ("ポチたま", "た"),
    ("강아지", "아"),
    (normalize("NFD", "강아지"), "강아"),
    ("강아지", normalize("NFD", "지")),
    ("Fluffy \N{RABBIT FACE}", "\N{RABBIT FACE}"),
    ("❤️ Bella", "❤ bella"),
]
MISSED = [
    ("\u0915\u093f\u0932\u093e", "\u0915\u0932"),
    ("\u0e21\u0e32", "\u0e21\u0e35"),
    ("カキ", "ガキ"),
    ("강", "가"),
    ("小花", "花小"),
    ("Rex", "\u0301"),
    ("Rex", "%"),
    ("Rex", "_ex"),
    ("a\\b", "a\\\\b"),
]
PAIRS = [(name, needle, True) for name, needle in FOUND] + [(name, needle, False) for name, needle in MISSED]


@pytest.fixture
def keeper(db: None) -> Client:
    return browser("keeper", "Administrator")


def listed(client: Client, page: str, needle: str) -> list[str]:
    return [str(each) for each in client.get(f"/admin/{page}/", {"q": needle}).context["cl"].result_list]


@pytest.mark.parametrize(("name", "needle", "is_found"), PAIRS)
def test_animals_are_found_by_name_and_by_reference(keeper: Client, name: str, needle: str, is_found: bool) -> None:
    PetFactory(name=name, external_reference="A-1")
    PetFactory(name="Other", external_reference=name)
    expected = ["Other", name] if is_found else []
    assert listed(keeper, "pets/pet", needle) == expected
    [*groups] = keeper.get("/admin/search/", {"q": needle}).context["groups"]
    assert [each.label for group in groups if group["title"] == "Animals" for each in group["results"]] == expected


@pytest.mark.parametrize(("name", "needle", "is_found"), [*PAIRS[2:4], *PAIRS[-2:]])
def test_deleted_animals_are(keeper: Client, name: str, needle: str, is_found: bool) -> None:
    PetFactory(name=name).delete()
    PetFactory(name="Other", external_reference=name).delete()
    found = keeper.get("/admin/activity/", {"kind": "deletion", "q": needle}).context["changes"]
    assert [change.animal.row.name for change in found] == (["Other", name] if is_found else [])


PLACES: list[tuple[str, Callable[[str], Any], str]] = [
    ("categories/category", lambda name: CategoryFactory(name=name), "Categories"),
    ("apikeys/apikey", lambda name: APIKeyFactory(name=name), "API keys"),
    ("apikeys/apikey", lambda name: APIKeyFactory(name="Key", contact=name), ""),
    ("auth/user", lambda name: member(f"user{len(name)}", first_name="Ada", last_name=name), "Staff"),
]


@pytest.mark.parametrize("place_of_search", PLACES, ids=lambda each: each[0])
@pytest.mark.parametrize(("name", "needle"), [("Sen\u0303or", "SE\xd1OR"), ("小花猫", "花")])
def test_everything_else_with_a_name_is(
    keeper: Client, place_of_search: tuple[str, Callable[[str], Any], str], name: str, needle: str
) -> None:
    page, make, group = place_of_search
    make("Another")
    make(name)
    found = keeper.get(f"/admin/{page}/", {"q": needle}).context["cl"].result_list
    assert len(found) == 1
    groups = keeper.get("/admin/search/", {"q": needle}).context["groups"]
    assert [each["title"] for each in groups] == ([group] if group else [])
    assert listed(keeper, page, "\u0301") == []


def test_pages_and_actions_are(keeper: Client) -> None:
    groups = keeper.get("/admin/search/", {"q": "\uff21dd  CATÉGORY"}).context["groups"]
    assert [each.label for group in groups for each in group["results"]] == ["Add a category"]


def known() -> list[int]:
    young = {code for first, last in YOUNGER_THAN_UNICODE_14 for code in range(first, last + 1)}
    codes = range(1, sys.maxunicode + 1)
    return [code for code in codes if category(chr(code)) not in {"Cn", "Co", "Cs"} and code not in young]


def folded_by_postgresql(texts: list[str]) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT search_fold(t) FROM unnest(%s::text[]) WITH ORDINALITY AS u (t, n) ORDER BY n", [texts])
        return [row[0] for row in cursor.fetchall()]


@postgresql_only
def test_both_databases_fold_every_character_alike(db: None) -> None:
    texts = [text for code in known() for text in (chr(code), f"aß {chr(code)}\u0301B")]
    assert len(texts) > 280_000
    differ = [
        pair for pair in zip(texts, map(fold, texts), folded_by_postgresql(texts), strict=True) if pair[1] != pair[2]
    ]
    assert differ == []


LETTERS = (
    "aRß SıſςΣΟé\u0301\u0308ñ\xa0\u3000\u200d\ufb01\uff32\u0307İйЁё\u0306ǅ花小ガか\u3099ﾎﾟ강\u1100\u1161\u11a8"
    "\u0e01\u0e48\u0e38\u0e33\u0915\u093c\u094d\u093f\u0645\u064f\u0651\u05e9\u05c1\u05b8\U0001f430\ufe0f1-%_\\\n"
)
WORDS = st.text(st.sampled_from(LETTERS), min_size=1, max_size=12)


@postgresql_only
@pytest.mark.django_db
@settings(STEADY)
@given(st.lists(WORDS, min_size=50, max_size=50))
def test_both_databases_fold_all_words_alike(texts: list[str]) -> None:
    assert folded_by_postgresql(texts) == list(map(fold, texts))


@in_python
@settings(STEADY)
@given(st.text(min_size=1, max_size=12))
@example("\xa8 ")
def test_the_form_does_not_count(text: str) -> None:
    forms = [fold(normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert forms == [fold(text)] * 4
    assert fold(fold(text)) == fold(text)


@in_python
@settings(STEADY)
@given(st.text(st.sampled_from("aRßSıςΣéñ\xa0 花小ガ강йİ\ufb01\U0001f430"), min_size=1, max_size=12), st.data())
@example("a  b", None)
def test_each_part_of_a_name_is_found_and_marked(name: str, data: Any) -> None:
    first = data.draw(st.integers(0, len(name) - 1)) if data else 1
    part = name[first : data.draw(st.integers(first + 1, len(name)))] if data else name[first:]
    if not fold_needle(part):
        assert place(name, part) is None
        return
    marked = place(name, part)
    assert marked is not None
    assert fold_needle(part) in fold(name[marked])


@postgresql_only
def test_open_connections_search_by_the_index_when_the_function_changes(transactional_db: None) -> None:
    migration: Any = import_module("pets.migrations.0029_fold_of_accents")
    search = matching(Pet.objects.order_by(), "senor")
    with connection.cursor() as cursor, closing(connection.copy()) as migrating:
        cursor.execute("SET enable_seqscan = off")
        for fold in (migration.FORMER, migration.FOLD):
            assert "pet_search" in search.explain()
            with migrating.schema_editor() as editor:
                migration.replace(editor, fold)
        assert "pet_search" in search.explain()
        cursor.execute("RESET enable_seqscan")
