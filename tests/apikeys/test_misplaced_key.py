"""A caller sends its key in the wrong header: nothing stores it."""

import json
from typing import Any

import pytest

from categories.models import Category
from idempotency.models import IdempotentRequest
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk import records
from petstore_site.back_office.request_desk.models import RequestRecord
from petstore_site.wsgi import application
from tests.conftest import error
from tests.factories import APIKeyFactory
from tests.in_loop import AdapterFirst
from tests.recorded.wsgi import exchange

MISPLACED = error("bad_request", "Idempotency-Key must not contain an API key.", 400)

in_django_and_in_the_event_loop = pytest.mark.parametrize("service", [application, None], ids=["django", "event loop"])


@pytest.fixture
def key(db: None) -> APIKey:
    return APIKeyFactory()


def add(service: Any, key: APIKey, **headers: str) -> tuple[int, dict[str, str], Any]:
    body = json.dumps({"name": "Rex", "categoryId": Category.objects.get().pk}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"Host": "testserver", "Authorization": f"Bearer {key.secret}", "Content-Type": "application/json", **named}
    status, given, content = exchange(service or AdapterFirst(application), "POST", "/v1/pets", sent, body)
    return status, {name.lower(): value for name, value in given.items()}, json.loads(content)


@in_django_and_in_the_event_loop
@pytest.mark.parametrize("form", ["{}", "order-{}", "pets_live_12345678secret"])
def test_as_request_id(service: Any, form: str, key: APIKey, category: Category, capsys: Any) -> None:
    sent = form.format(key.secret)
    status, headers, pet = add(service, key, X_Request_ID=sent)
    records.flush()
    given = headers["x-request-id"]
    assert (status, len(given), given.isalnum()) == (201, 32, True)
    assert list(Pet.history.filter(id=pet["id"]).values_list("request_id", flat=True)) == [given]
    assert list(RequestRecord.objects.values_list("request_id", flat=True)) == [given]
    assert sent not in "".join(capsys.readouterr())


@in_django_and_in_the_event_loop
@pytest.mark.parametrize("form", ["{}", '"{}"', "order-{}", "pets_live_12345678secret"])
def test_as_idempotency_key(service: Any, form: str, key: APIKey, category: Category) -> None:
    status, _, body = add(service, key, Idempotency_Key=form.format(key.secret))
    assert (status, body) == (400, MISPLACED)
    assert (IdempotentRequest.objects.count(), Pet.objects.count()) == (0, 0)


@in_django_and_in_the_event_loop
@pytest.mark.parametrize("name", ["X_Request_ID", "Idempotency_Key"])
def test_what_only_resembles_one_is_kept(service: Any, name: str, key: APIKey, category: Category) -> None:
    mine = "pets_live_orders-of-2026.pets_test_1234567890"
    status, headers, _ = add(service, key, **{name: mine})
    stored = [*IdempotentRequest.objects.values_list("key", flat=True)] or [headers["x-request-id"]]
    assert (status, stored) == (201, [mine])
