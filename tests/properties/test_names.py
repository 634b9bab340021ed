"""The one validator of names, and all who ask it, against a naive reading of the rule."""

from contextlib import nullcontext
from itertools import chain
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms import modelform_factory
from hypothesis import example, given
from hypothesis import strategies as st

from categories.models import Category
from categories.names import validate_name
from pets.models import Pet
from tests.conftest import ApiClient
from tests.properties.examples import rolled_back
from tests.properties.reading import DRAWN_AS_NOTHING, is_name

SPECIAL = "\x00\x1f \x7f\x80\x9f\xa0\xad\u0301\u0903\u200b\u200d\u2028\u202e\u3000\ufe0f\ufeff\ufffe\ud800\udfff\U000e0041\U0010ffff🐶é"
CHARACTERS = st.sampled_from(SPECIAL + DRAWN_AS_NOTHING) | st.characters(codec=None, exclude_categories=())
NAMES = st.one_of(
    st.text(CHARACTERS, max_size=8),
    st.text(st.sampled_from(" \u00a0\u200b\u0301" + DRAWN_AS_NOTHING), max_size=8),
    st.builds(lambda text, length: (text * 256)[:length], st.text(CHARACTERS, min_size=1), st.integers(250, 260)),
)


def is_valid(name: str) -> bool:
    try:
        validate_name(name)
    except ValidationError:
        return False
    return True


@given(NAMES)
@example("")
@example("x" * 255)
@example("x" * 256)
@example("🐶" * 255)
@example("🐶" * 256)
@example(" " * 255)
def test_the_validator_reads_the_rule_as_we_do(name: str) -> None:
    assert is_valid(name) == is_name(name)


@pytest.mark.parametrize("rest", ["", "x", " "])
def test_every_character_but_ideographs_and_private_ones(rest: str) -> None:
    characters = map(chr, chain(range(0x20000), range(0xE0000, 0xE1000)))
    differing = [character for character in characters if is_valid(character + rest) != is_name(character + rest)]
    assert differing == []


@pytest.mark.each_database
@given(NAMES)
def test_the_api_accepts_what_the_rule_accepts_and_keeps_it_exactly(
    api: ApiClient, category: Category, name: str
) -> None:
    with rolled_back():
        answer = api.post("/v1/pets", {"name": name, "categoryId": category.pk})
        assert answer.status_code == (201 if is_name(name) else 400)
        if answer.status_code == 201:
            assert answer.json()["name"] == name
            assert Pet.objects.get().name == name
            assert api.get("/v1/pets").json() == [answer.json()]
        else:
            assert answer.json()["message"].startswith("name must ")
            assert not Pet.objects.exists()


@pytest.mark.parametrize("model", [Pet, Category])
@given(name=NAMES)
def test_a_model_accepts_what_the_rule_accepts(model: type[Model], name: str) -> None:
    row = model(name=name)
    others = [field.name for field in model._meta.fields if field.name != "name"]
    rejected: Any = nullcontext() if is_name(name) else pytest.raises(ValidationError, match="name")
    with rejected:
        row.clean_fields(exclude=others)


@pytest.mark.django_db
@given(NAMES)
def test_the_back_office_accepts_what_the_rule_accepts_and_trims_nothing(name: str) -> None:
    form = modelform_factory(Pet, fields=["name"])({"name": name})
    assert form.is_valid() == is_name(name)
    if form.is_valid():
        assert form.cleaned_data["name"] == name
