"""`load_demo_data` and `prepare_development`."""

import re
import unicodedata
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError

from categories.models import Category
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from tests.conftest import ApiClient
from tests.factories import PetFactory
from tests.running import run, run_json


def test_a_catalogue_like_a_pet_stores(db: None) -> None:
    assert run_json("load_demo_data") == {"categories": 17, "pets": 360}
    pets = list(Pet.objects.select_related("category"))
    scripts = {unicodedata.name(letter).split()[0] for pet in pets for letter in pet.name if letter.isalpha()}
    assert {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "CJK", "HANGUL", "THAI", "DEVANAGARI"} <= scripts
    for category in Category.objects.all():
        assert {pet.status for pet in pets if pet.category == category} == {"available", "pending", "sold"}
    for pet in pets:
        pet.full_clean()


def test_the_same_every_time(db: None) -> None:
    def load() -> list[tuple[str, str, str]]:
        run("load_demo_data")
        rows = list(Pet.objects.order_by("pk").values_list("name", "category__name", "status"))
        Pet.objects.all().delete()
        return rows

    assert load() == load()


def test_never_into_a_database_with_animals_of_its_own(db: None) -> None:
    PetFactory(name="Mine")
    with pytest.raises(CommandError, match="The catalogue has animals already"):
        run("load_demo_data")
    assert [pet.name for pet in Pet.objects.all()] == ["Mine"]


def test_the_first_make_run_shows_a_key_and_a_login_that_work(db: None) -> None:
    out = run("prepare_development", "--port", "8123")
    key = re.search(r"API key +(pets_test_\w{46})$", out, re.MULTILINE)
    login = re.search(r"admin / (\S+)", out)
    assert key
    assert login
    assert f'curl -H "Authorization: Bearer {key[1]}" "http://127.0.0.1:8123/v1/pets?status=available&limit=3"' in out
    assert ApiClient(key[1]).get("/v1/pets?status=available&limit=3").status_code == 200
    assert authenticate(username="admin", password=login[1])


def test_the_second_keeps_everything_and_shows_no_secret(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret@/petstore")  # of which the commands shown are too
    first = run("prepare_development")
    counts = [model.objects.count() for model in (Pet, APIKey, User)]
    out = run("prepare_development")
    key = re.search(r"pets_test_\w{46}", first)
    assert key
    assert key[0] not in out
    assert (
        "API key       was shown once. To issue another: DATABASE_URL=… .venv/bin/python manage.py issue_api_key NAME\n"
        in out
    )
    assert (
        "sign in with your account, or create one: DATABASE_URL=… .venv/bin/python manage.py create_admin NAME\n" in out
    )
    assert [model.objects.count() for model in (Pet, APIKey, User)] == counts == [360, 1, 1]


@pytest.mark.parametrize(
    ("host", "shown"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]"), ("pets.local", "pets.local")]
)
def test_the_lines_shown_work_from_this_machine(db: None, host: str, shown: str) -> None:
    PetFactory()  # or the demonstration is loaded
    assert f'"http://{shown}:8000/v1/pets?' in run("prepare_development", "--host", host)


def test_someone_elses_admin_account_is_left_alone(db: None) -> None:
    PetFactory()
    User.objects.create_user("admin", password="x")
    assert "API key       pets_test_" in run("prepare_development")
    assert not User.objects.get().is_staff


def test_what_there_is_as_json(db: None) -> None:
    first, second = (run_json("prepare_development") for _ in range(2))
    ready = {"address": "http://127.0.0.1:8000", "username": "admin"}
    assert first == ready | {"key": first["key"], "password": first["password"]}
    assert ApiClient(first["key"]).get("/v1/pets").status_code == 200
    assert second == ready | {"key": None, "username": None, "password": None}


@pytest.mark.parametrize("environment", ["production", "staging"])
def test_make_run_is_for_development(db: None, settings: Any, environment: str) -> None:
    settings.HOSTED, settings.PETSTORE_ENVIRONMENT = True, environment
    with pytest.raises(CommandError, match=f"PETSTORE_ENVIRONMENT is {environment}"):
        run("prepare_development")
    assert not APIKey.objects.exists()
