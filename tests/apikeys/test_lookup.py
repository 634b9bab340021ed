"""One query a second for each key and process, and never a result older than a second."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import OperationalError

from database.statements import Row, Steps, run
from petstore_site.apikeys import keys, lookup
from petstore_site.apikeys.lookup import CachedKey, KeyCache
from tests.factories import APIKeyFactory

A, B, C, UNKNOWN = (keys.generate("pets_test_") for _ in range(4))
KEY = CachedKey(pk=1, key_id="AbCd1234", name="Shop", scope="write", rate_limit="", expires_at=None, revoked_at=None)


class Table:
    """A fake database that counts queries, and can be slow or broken."""

    answer: Callable[[], CachedKey | None]

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer = lambda: KEY

    def load(self, digest: str) -> CachedKey | None:
        self.asked.append(digest)
        return self.answer()


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(table: Table, clock: Clock) -> KeyCache:
    return KeyCache(table.load, clock)


class TestFreshness:
    def test_one_question_a_second(self, cache: KeyCache, table: Table, clock: Clock) -> None:
        for clock.now in (100.0, 100.5, 100.999, 101.0, 101.5, 102.0):
            assert cache.find(A) == KEY
        assert table.asked == [keys.digest(A)] * 3

    def test_the_second_counts_from_before_the_question(self, cache: KeyCache, table: Table, clock: Clock) -> None:
        def slow() -> CachedKey:
            clock.now += 0.9
            return KEY

        table.answer = slow
        cache.find(A)
        clock.now += 0.2
        cache.find(A)
        assert table.asked == [keys.digest(A)] * 2


class TestSize:
    def test_a_new_second_begins_with_none(self, cache: KeyCache, clock: Clock) -> None:
        for text in (A, B, "typo"):
            cache.find(text)
        clock.now += 1
        cache.find(C)
        assert [*cache._answers] == [C]

    def test_guessing_does_not_grow_memory_or_ask_the_database(self, cache: KeyCache, table: Table) -> None:
        for number in range(lookup.CAPACITY + 500):
            assert cache.find(f"{A}{number}") is None
        assert len(cache._answers) == 500
        assert table.asked == []

    def test_a_key_of_another_environment_is_none(self, cache: KeyCache, settings: Any) -> None:
        live = keys.generate("pets_live_")
        assert cache.find(live) is None
        settings.API_KEY_PREFIX = "pets_live_"
        cache.clear()
        assert cache.find(live) == KEY


class TestThreads:
    def test_those_who_miss_together_share_one_question(self, cache: KeyCache, table: Table) -> None:
        release = threading.Event()

        def slow() -> CachedKey:
            release.wait(5)
            return KEY

        table.answer = slow
        with ThreadPoolExecutor(16) as pool:
            answers = [pool.submit(cache.find, A) for _ in range(16)]
            release.set()
            assert [answer.result() for answer in answers] == [KEY] * 16
        assert table.asked == [keys.digest(A)]

    def test_nobody_waits_for_a_question_older_than_a_second(self, cache: KeyCache, table: Table, clock: Clock) -> None:
        asked, release = threading.Event(), threading.Event()

        def stuck() -> CachedKey | None:
            asked.set()
            release.wait(5)
            return None

        table.answer = stuck
        with ThreadPoolExecutor(1) as pool:
            early = pool.submit(cache.find, A)
            asked.wait(5)
            clock.now += 1.0
            table.answer = lambda: KEY
            assert cache.find(A) == KEY
            release.set()
            assert early.result() is None
        assert cache.find(A) == KEY
        assert table.asked == [keys.digest(A)] * 2

    def test_an_error_goes_to_all_who_waited_and_is_forgotten(self, cache: KeyCache, table: Table) -> None:
        release = threading.Event()

        def broken() -> CachedKey:
            release.wait(5)
            message = "the database is away"
            raise OSError(message)

        table.answer = broken
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(cache.find, A) for _ in range(4)]
            while len(pool._threads) < 4:
                pass
            release.set()
            assert [str(answer.exception()) for answer in answers] == ["the database is away"] * 4
        table.answer = lambda: KEY
        assert cache.find(A) == KEY


@pytest.mark.django_db
class TestTable:
    def test_finds_a_key(self, django_assert_num_queries: Any) -> None:
        key = APIKeyFactory(scope="read", rate_limit="5/s")
        with django_assert_num_queries(1):
            found = [lookup.find(key.secret) for _ in range(10)]
        assert found == [CachedKey(key.pk, key.key_id, key.name, "read", "5/s", None, None, caller_id=key.pk)] * 10
        assert key.secret not in repr(found)

    def test_an_unknown_key(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(1):
            assert [lookup.find(UNKNOWN) for _ in range(10)] == [None] * 10


async def of_table(steps: Steps[Any]) -> list[Row]:
    return await sync_to_async(run)(steps)


def ask(text: str, rows: Callable[[Steps[Any]], Awaitable[list[Row]]] = of_table) -> list[Any]:
    """Return what three callers get who wait together in one event loop."""

    @async_to_sync
    async def together() -> list[Any]:
        return await asyncio.gather(*(lookup.find_async(text, rows) for _ in range(3)), return_exceptions=True)

    return together()


@pytest.mark.django_db
class TestLoop:
    """The same for callers that wait in an event loop."""

    def test_a_key_and_an_unknown_one_are_asked_for_once(self, django_assert_num_queries: Any) -> None:
        key = APIKeyFactory(scope="read", rate_limit="5/s")
        known = CachedKey(key.pk, key.key_id, key.name, "read", "5/s", None, None, caller_id=key.pk)
        with django_assert_num_queries(2):
            assert [ask(text) for text in (key.secret, UNKNOWN) * 2] == [[known] * 3, [None] * 3] * 2

    def test_an_error_goes_to_all_who_waited_and_is_forgotten(self) -> None:
        async def broken(_steps: Steps[Any]) -> list[Row]:
            await asyncio.sleep(0)
            message = "the database is away"
            raise OSError(message)

        key = APIKeyFactory()
        assert [str(error) for error in ask(key.secret, broken)] == ["the database is away"] * 3
        assert [found.pk for found in ask(key.secret)] == [key.pk] * 3

    def test_one_who_waits_and_is_canceled_takes_it_from_nobody(self) -> None:
        """As when a client has closed its connection a while ago."""
        release = asyncio.Event()

        async def slow(_steps: Steps[Any]) -> list[Row]:
            await release.wait()
            return [tuple(KEY)]

        @async_to_sync
        async def together() -> list[Any]:
            waiting = [asyncio.create_task(lookup.find_async(A, slow)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
            await asyncio.sleep(0)
            release.set()
            return await asyncio.gather(*waiting, return_exceptions=True)

        first, canceled, last = together()
        assert (first, last) == (KEY, KEY)
        assert isinstance(canceled, asyncio.CancelledError)

    def test_if_the_one_who_asks_is_canceled_the_others_get_an_error(self) -> None:
        """They are not canceled too."""

        async def endless(_steps: Steps[Any]) -> list[Row]:
            await asyncio.sleep(60)
            return []

        @async_to_sync
        async def together() -> list[Any]:
            waiting = [asyncio.create_task(lookup.find_async(A, endless)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            return await asyncio.gather(*waiting, return_exceptions=True)

        assert [type(each) for each in together()] == [asyncio.CancelledError, OperationalError, OperationalError]
