"""`Idempotency-Key` as a state machine: which request adds, which is a replay, which is rejected."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from idempotency.models import IdempotentRequest
from pets.models import Pet
from petstore_site.apikeys import lookup
from petstore_site.apikeys.models import APIKey
from tests.conftest import ApiClient, error
from tests.factories import CategoryFactory
from tests.properties.examples import Clock, rolled_back, run

LIFETIME = timedelta(hours=24)
REUSED = error("idempotency_key_reused", "This Idempotency-Key was already used with a different body.", 422)
IN_PROGRESS = error("idempotency_in_progress", "A request with this Idempotency-Key is still running.", 409)
MALFORMED = error("bad_request", "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters.", 400)

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
MEANT = {"name": None, "categoryId": None, "status": "available"}
KEYS = ["a", "b", '"a"', "x" * 255]


class Answered(NamedTuple):
    """What is stored for a key: the request, its time, and the response."""

    body: dict[str, Any]
    at: datetime
    content: bytes
    location: str


@pytest.fixture
def clients(db: None) -> list[ApiClient]:
    CategoryFactory(pk=1)
    return [ApiClient(APIKey.objects.issue(name=name)[1]) for name in ("Shop", "Till")]


BODIES = st.sampled_from([*RIGHT, *WRONG])
CROWDS = st.lists(BODIES, min_size=2, max_size=4) | st.builds(
    lambda text, callers: [text] * callers, BODIES, st.integers(2, 4)
)
"""What clients send at the same time: each its own body, or one body for all."""


class Till(RuleBasedStateMachine):
    """Two clients that use the same few keys, one request after the other or several at once, and a clock.

    Other threads see only what is committed, so that its rows are removed in the end, not rolled back.
    """

    clients: list[ApiClient]
    crowd: Executor

    def __init__(self) -> None:
        super().__init__()
        lookup.clear()
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

    @rule(client=st.integers(0, 1), key=st.sampled_from(KEYS), texts=CROWDS)
    def post_at_the_same_time(self, client: int, key: str, texts: list[str]) -> None:
        answers = at_the_same_time(self.crowd, self.clients[client].key, [(key, text) for text in texts])
        name = client, key.strip('"')
        pairs = [(json.loads(text), answer) for text, answer in zip(texts, answers, strict=True)]
        if earlier := self.earlier(name):
            for body, answer in pairs:
                self.judge_repeated(answer, earlier, body)
            return
        firsts = [(body, answer) for body, answer in pairs if is_first(answer)]
        could_add = [answer for text, answer in zip(texts, answers, strict=True) if text in RIGHT]
        assert len(firsts) == 1 or all(answer.status_code == 409 for answer in could_add)
        for body, first in firsts:
            self.judge_first(first)
            self.kept[name] = Answered(body, self.clock.now, first.content, first["Location"])
        for text, (body, answer) in zip(texts, pairs, strict=True):
            if is_first(answer):
                continue
            if answer.status_code == 409:
                assert answer.json() == IN_PROGRESS
            elif text in WRONG and answer.status_code == 400:
                assert answer.json()["code"] == "validation_failed"
            else:
                self.judge_repeated(answer, self.kept[name], body)

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
        IdempotentRequest.objects.all().delete()
        Pet.objects.all().delete()
        lookup.clear()

    def earlier(self, name: tuple[int, str]) -> Answered | None:
        kept = self.kept.get(name)
        return kept if kept and self.clock.now < kept.at + LIFETIME else None

    def judge_first(self, answer: Any) -> None:
        assert answer.status_code == 201
        assert "Idempotency-Replayed" not in answer.headers
        self.animals += 1

    def judge_repeated(self, answer: Any, earlier: Answered, body: Any) -> None:
        if meaning(body) == meaning(earlier.body):
            assert (answer.status_code, answer["Idempotency-Replayed"]) == (201, "true")
            assert (answer.content, answer["Location"]) == (earlier.content, earlier.location)
        else:
            assert (answer.status_code, answer.json()) == (422, REUSED)


def meaning(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a body asks for: unknown fields say nothing, and a status left out is available."""
    return {name: body.get(name, default) for name, default in MEANT.items()}


def is_first(answer: Any) -> bool:
    return answer.status_code == 201 and "Idempotency-Replayed" not in answer.headers


@pytest.fixture
def crowd() -> Iterator[Executor]:
    """Eight threads that keep their connections: to connect takes longer than to add an animal."""
    barrier = Barrier(8)

    def close(_: int) -> None:
        barrier.wait()
        connection.close()

    with ThreadPoolExecutor(barrier.parties) as pool:
        yield pool
        list(pool.map(close, range(barrier.parties)))


def at_the_same_time(crowd: Executor, secret: str | None, requests: list[tuple[str, str]]) -> list[Any]:
    """Send requests, each an `Idempotency-Key` and a body, from one thread each; return the responses in their order."""
    barrier = Barrier(len(requests))

    def post(request: tuple[str, str]) -> Any:
        key, text = request
        barrier.wait()
        return ApiClient(secret).post("/v1/pets", text.encode(), Idempotency_Key=key)

    return list(crowd.map(post, requests))


@pytest.mark.django_db(transaction=True)
def test_each_key_adds_once_a_day(clients: list[ApiClient], crowd: Executor) -> None:
    run(Till, clients=clients, crowd=crowd)


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
def test_callers_at_the_same_time_add_one_animal_for_each_key(
    clients: list[ApiClient], crowd: Executor, callers: int
) -> None:
    """Every caller of a key sends the same body: one adds, the others get its response, or 409 after a long wait."""
    answers = at_the_same_time(crowd, clients[0].key, [(KEYS[number % 2], RIGHT[0]) for number in range(callers)])
    assert Pet.objects.count() == min(callers, 2)
    for key in range(2):
        of_key = answers[key::2]
        made = [answer for answer in of_key if answer.status_code == 201]
        [first] = [answer for answer in made if is_first(answer)]
        assert {answer.content for answer in made} == {first.content}
        assert {answer.status_code for answer in of_key} <= {201, 409}
