"""The published description and the service are the same thing: schemathesis tries both against each other.

Data that fits the description is accepted, other data rejected, every response is a described one, and a rejected
request changes nothing. `python -m lab.fuzz` does the same over HTTP, for as long as you like.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from django.core.management.color import no_style
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Response
from schemathesis.schemas import BaseSchema

from categories.models import Category
from idempotency.models import IdempotentRequest
from pets.models import Pet
from petstore_site.wsgi import application
from tests.api.test_list_pets import next_path
from tests.contract.generator import CHECKS, STATUSES, AnyCase, Page, Store, ask, configuration, teach
from tests.exploring import EXPLORE
from tests.factories import CategoryFactory, PetFactory

# Without Hypothesis's steering towards what schemathesis likes, which took more time than all requests.
PHASES = [Phase.explicit, Phase.generate, Phase.shrink]
BOUNDED = settings(
    max_examples=10_000 if EXPLORE else 100,
    derandomize=not EXPLORE,
    deadline=None,
    database=None,
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
)
"""Random cases for each operation, besides the 50 that schemathesis makes of every limit in the description."""

WALKS = settings(BOUNDED, max_examples=60, stateful_step_count=8)


@pytest.fixture
def store(key: str) -> Store:
    """Some animals of each status, as the service itself lists them."""
    categories = CategoryFactory.create_batch(3)
    for status in STATUSES:
        PetFactory.create_batch(10, category=categories[0], status=status)
    client = Client(headers={"Authorization": f"Bearer {key}"})

    def get(path: str) -> Page:
        answer = client.get(f"/v1{path}")
        return Page([row["id"] for row in answer.json()], next_path(answer))

    return ask(get)


@pytest.fixture
def described(store: Store, key: str, caplog: pytest.LogCaptureFixture) -> Iterator[BaseSchema]:
    """The description as the service sends it, with a generator that knows what is in the store."""
    caplog.set_level(logging.WARNING, "petstore.requests")
    config = configuration(base_url="http://localhost/v1", key=key)
    with connection_kept():
        schema = schemathesis.openapi.from_wsgi("/openapi.json", application, config=config)
        teach(schema, store)
        yield schema


@contextmanager
def connection_kept() -> Iterator[None]:
    """Stay in the test's transaction, which a request would end with its connection; Django's client does the same."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def rows() -> tuple[int, int, int]:
    return Pet.objects.count(), Category.objects.count(), IdempotentRequest.objects.count()


def growth(case: AnyCase, response: Response) -> tuple[int, int, int]:
    """What a response says that it added: animals, categories, stored responses."""
    added = response.status_code == 201 and "idempotency-replayed" not in response.headers
    return int(added), 0, int(added and "Idempotency-Key" in case.headers)


def send_and_judge(case: AnyCase) -> None:
    before = rows()
    response = case.call()
    after = rows()
    assert tuple(b - a for a, b in zip(before, after, strict=True)) == growth(case, response)
    case.validate_response(response, additional_checks=CHECKS)
    assert rows() == after, "a request without a key, or with a wrong one, changed something"


description = schemathesis.pytest.from_fixture("described")


@description.include(operation_id="listPets").parametrize()
@BOUNDED
def test_list_pets(case: AnyCase) -> None:
    send_and_judge(case)


@description.include(operation_id="createPet").parametrize()
@BOUNDED
def test_create_pet(case: AnyCase) -> None:
    send_and_judge(case)


@description.include(operation_id="getPet").parametrize()
@BOUNDED
def test_get_pet(case: AnyCase) -> None:
    send_and_judge(case)


@description.include(tag="categories").parametrize()
@BOUNDED
def test_categories(case: AnyCase) -> None:
    send_and_judge(case)


@description.include(operation_id="listChanges").parametrize()
@BOUNDED
def test_changes(case: AnyCase) -> None:
    send_and_judge(case)


def test_no_operation_is_left_out(client: Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    names = {operation["operationId"] for item in paths.values() for operation in item.values()}
    assert names == {"listPets", "createPet", "getPet", "listCategories", "getCategory", "listChanges"}


def test_links_between_operations_hold(described: BaseSchema, store: Store) -> None:
    """Walks along the links that schemathesis infers: an ID in a response is a path parameter elsewhere."""
    machine: Any = described.as_state_machine()

    class Walk(machine):  # type: ignore[misc]  # made at run time
        def setup(self) -> None:
            self.known = list(store.ids["pets"])
            self.transaction = transaction.atomic()
            self.transaction.__enter__()
            with connection.cursor() as cursor:
                for statement in connection.ops.sequence_reset_sql(no_style(), [Pet]):
                    cursor.execute(statement)

        def teardown(self) -> None:
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)
            store.ids["pets"] = self.known

        def validate_response(self, response: Response, case: AnyCase, **kwargs: Any) -> None:
            super().validate_response(response, case, additional_checks=CHECKS, **kwargs)

    Walk.run(settings=WALKS)
