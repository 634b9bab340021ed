"""`Idempotency-Key` as a state machine: which request adds, which is a replay, which is refused."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.idempotency.models import IdempotentRequest
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory
from tests.properties.examples import Clock, RolledBackMachine, rolled_back, run

LIFETIME = timedelta(hours=24)
REUSED = error("idempotency_key_reused", "This Idempotency-Key came before with another body.", 422)
MALFORMED = error("bad_request", "Idempotency-Key must have 1 to 255 visible ASCII characters.", 400)

RIGHT = [
    '{"name": "Rex", "categoryId": 1}',
    '{"categoryId": 1, "name": "Rex"}',
    '{"name": "Rex", "categoryId": 1, "status": "sold"}',
    '{"name": "Max", "categoryId": 1}',
    '{"name": "Rex", "categoryId": 1, "colour": "red"}',
    '{"name": "Rex", "categoryId": 1, "colour": {"of": "fur", "is": "red"}}',
]
WRONG = [
    '{"name": "Rex"}',
    '{"name": "", "categoryId": 1}',
    '{"name": "Rex", "categoryId": 2}',
    '{"name": "Rex", "categoryId": "1"}',
    "{}",
]
NO_JSON = "{"
KEYS = ["a", "b", '"a"', "x" * 255]


class Answered(NamedTuple):
    """What is kept about a key: what was asked, when, and the answer."""

    body: dict[str, Any]
    at: datetime
    content: bytes
    location: str


@pytest.fixture
def clients(db: None) -> list[ApiClient]:
    CategoryFactory(pk=1)
    return [ApiClient(APIKey.objects.issue(name=name)[1]) for name in ("Shop", "Till")]


class Till(RolledBackMachine):
    """Two clients that use the same few keys, and a clock."""

    clients: list[ApiClient]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.time = self.clock.installed()
        self.time.__enter__()
        self.kept: dict[tuple[int, str], Answered] = {}
        self.animals = 0

    @rule(client=st.integers(0, 1), key=st.sampled_from(KEYS), text=st.sampled_from([*RIGHT, *WRONG, NO_JSON]))
    def post(self, client: int, key: str, text: str) -> None:
        answer = self.clients[client].post("/v1/pets", text.encode(), Idempotency_Key=key)
        name = client, key.strip('"')
        if text == NO_JSON:
            assert answer.status_code == 400
        elif earlier := self.earlier(name):
            self.judge_repeated(answer, earlier, json.loads(text))
        elif text in WRONG:
            assert answer.status_code == 400
        else:
            self.judge_first(answer)
            self.kept[name] = Answered(json.loads(text), self.clock.now, answer.content, answer["Location"])

    @rule(client=st.integers(0, 1), text=st.sampled_from(RIGHT))
    def post_without_a_key(self, client: int, text: str) -> None:
        self.judge_first(self.clients[client].post("/v1/pets", text.encode()))

    @rule(hours=st.sampled_from([1, 23, 24]), seconds=st.sampled_from([-1, 0, 1]))
    def time_passes(self, hours: int, seconds: int) -> None:
        self.clock.passes(timedelta(hours=hours, seconds=seconds))

    @rule()
    def purge(self) -> None:
        call_command("purge_expired", "--json")
        assert IdempotentRequest.objects.count() == sum(1 for name in self.kept if self.earlier(name))

    @rule()
    def remove_all_animals(self) -> None:
        Pet.objects.all().delete()
        self.animals = 0

    @invariant()
    def nothing_else_was_added(self) -> None:
        assert Pet.objects.count() == self.animals
        assert not IdempotentRequest.objects.exclude(status=201).exists()

    def teardown(self) -> None:
        self.time.__exit__(None, None, None)
        super().teardown()

    def earlier(self, name: tuple[int, str]) -> Answered | None:
        kept = self.kept.get(name)
        return kept if kept and self.clock.now < kept.at + LIFETIME else None

    def judge_first(self, answer: Any) -> None:
        assert answer.status_code == 201
        assert "Idempotency-Replayed" not in answer.headers
        self.animals += 1

    def judge_repeated(self, answer: Any, earlier: Answered, body: Any) -> None:
        if body == earlier.body:
            assert (answer.status_code, answer["Idempotency-Replayed"]) == (201, "true")
            assert (answer.content, answer["Location"]) == (earlier.content, earlier.location)
        else:
            assert (answer.status_code, answer.json()) == (422, REUSED)


def test_each_key_adds_once_a_day(clients: list[ApiClient]) -> None:
    run(Till, clients=clients)


def test_a_number_and_the_same_text_are_two_payloads(clients: list[ApiClient]) -> None:
    number, text = (b'{"name": "Rex", "categoryId": %s}' % written for written in (b"1.0", b'"1.0"'))
    clients[0].post("/v1/pets", number, Idempotency_Key="a")
    answer = clients[0].post("/v1/pets", text, Idempotency_Key="a")
    assert (answer.status_code, answer.json()) == (422, REUSED)


VISIBLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E)


@given(key=st.text(VISIBLE, min_size=1, max_size=255).filter(lambda key: not key.startswith('""')))
@example(key='"')
@example(key='"a')
@example(key='a"')
@example(key="x" * 255)
def test_a_key_is_any_visible_ascii(clients: list[ApiClient], key: str) -> None:
    with rolled_back():
        first, again = (clients[0].post("/v1/pets", RIGHT[0].encode(), Idempotency_Key=key) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 201)
        assert ("Idempotency-Replayed" in first.headers, again["Idempotency-Replayed"]) == (False, "true")


def test_a_key_may_begin_with_two_quotes(clients: list[ApiClient]) -> None:
    assert clients[0].post("/v1/pets", RIGHT[0].encode(), Idempotency_Key='""a').status_code == 201


@given(key=st.text(st.characters(max_codepoint=0xFF, exclude_characters="\r\n"), max_size=300))
@example(key="")
@example(key='""')
@example(key="x" * 256)
def test_nothing_else_is_a_key(clients: list[ApiClient], key: str) -> None:
    assume(not re.fullmatch(r'"?[!-~]{1,255}"?', key.strip()) or key == '""')
    answer = clients[0].post("/v1/pets", RIGHT[0].encode(), Idempotency_Key=key)
    assert (answer.status_code, answer.json()) == (400, MALFORMED)
    assert not Pet.objects.exists()


def test_only_blanks_around_a_key_are_ignored(clients: list[ApiClient]) -> None:
    answers = [clients[0].post("/v1/pets", RIGHT[0].encode(), Idempotency_Key=key) for key in (" \ta ", "\xa0a")]
    assert [answer.status_code for answer in answers] == [201, 400]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("callers", [2, 8])
def test_callers_at_the_same_time_add_one_animal_for_each_key(clients: list[ApiClient], callers: int) -> None:
    """Every caller of a key sends the same body: one adds, the others get its answer, or 409 where they waited long."""
    barrier = Barrier(callers)

    def post(number: int) -> Any:
        barrier.wait()
        try:
            client = ApiClient(clients[0].key)
            return client.post("/v1/pets", RIGHT[0].encode(), Idempotency_Key=KEYS[number % 2])
        finally:
            connection.close()

    with ThreadPoolExecutor(callers) as pool:
        answers = list(pool.map(post, range(callers)))
    assert Pet.objects.count() == min(callers, 2)
    for key in range(2):
        of_key = answers[key::2]
        made = [answer for answer in of_key if answer.status_code == 201]
        first = [answer for answer in made if "Idempotency-Replayed" not in answer.headers]
        assert len(first) == 1
        assert {answer.content for answer in made} == {first[0].content}
        assert {answer.status_code for answer in of_key} <= {201, 409}
