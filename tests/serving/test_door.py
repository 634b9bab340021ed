"""The door with a small application behind it, in this process."""

import asyncio
import errno
import json
import math
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator
from io import BufferedRandom, BytesIO, FileIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core.cache import caches
from django.db import OperationalError

from database import statements
from database.statements import Statement, Steps
from history.acting import Acting, acting, begin_request, identify
from petstore_site.errors import LateError, OverloadError
from petstore_site.serving import adapter, threads
from petstore_site.serving.door import LARGEST_FORM, Door
from petstore_site.serving.metrics import GIVEN_UP, Metrics
from petstore_site.serving.threads import OnSQLite
from rest.request import Request
from tests.conftest import error
from tests.server import until
from tests.serving.calling import Got, ask, at_most, scope

UNAVAILABLE = error("unavailable", "The service is temporarily unavailable.", 503)


class Application:
    """A WSGI application that shows what it was given; `/…/wait` waits until `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.called = self.closed = 0
        self.later = 0.0
        """Seconds by which the clock of the loop may be fast."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.called += 1
        if environ["PATH_INFO"].endswith("wait"):
            self.go.wait(60)
        is_long = environ["PATH_INFO"].endswith("long")
        start_response("200 OK", [("Content-Type", "text/plain")] + [("Content-Length", "300000")] * is_long)
        if is_long:
            return Parts(self)
        if environ["PATH_INFO"].endswith("made"):
            return self.made_parts()
        if environ["PATH_INFO"].endswith("slow"):
            return self.slow_parts()
        if environ["PATH_INFO"].endswith("fails"):
            raise RuntimeError
        read = environ["wsgi.input"].read()
        return [f"{environ['PATH_INFO']} {environ.get('CONTENT_LENGTH')} {len(read)} {read[:20]!r}".encode()]

    def made_parts(self) -> Iterator[bytes]:
        """Make a response whose first line is known at once."""
        yield b"first\n"
        yield b"second\n" if self.go.wait(20) else b"late\n"

    def slow_parts(self) -> Iterator[bytes]:
        """Make a response of 500 kB, most of it after the deadline."""
        yield from [b"x" * 100_000] * 2
        self.later = 100
        yield from [b"x" * 100_000] * 3


class Parts:
    """A response of 300 kB in small parts."""

    def __init__(self, application: Application) -> None:
        self.application = application

    def __iter__(self) -> Iterator[bytes]:
        return iter([b"x" * 1000] * 300)

    def close(self) -> None:
        self.application.closed += 1


class SmallDisk(FileIO):
    """A file on a disk that has room for this many bytes."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__(path, "w+")
        self.room = room

    def write(self, block: Any, /) -> int:
        if self.tell() + len(block) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(block)


@pytest.fixture
def application(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    """What a test does not shorten is longer than any pause of a busy machine."""
    settings.ALLOWED_HOSTS = ["localhost"]
    monkeypatch.setattr(threads, "DEADLINE", 60)
    monkeypatch.setattr(threads, "QUEUE_SECONDS", 60)
    application = Application()
    yield application
    application.go.set()


def body_of(application: Application, path: str, *parts: bytes | None, **headers: str) -> Got:
    return asyncio.run(ask(Door(application, 2), scope(path, "POST", **headers), parts))


INCOMPLETE = "The form did not arrive complete. Go back and send it again."
TOO_LARGE = "Files here can have at most 25 MB. Go back and send a smaller file, or ask an operator to import it."


def message_of(got: Got) -> str:
    found = re.search(r"<h1>.*?</h1>\s*<p[^>]*>(.*?)</p>", got.body.decode(), re.DOTALL)
    assert found, got.body
    return found[1].strip()


def json_of(got: Got) -> Any:
    return json.loads(got.body)


def given_up(counted: Metrics) -> dict[str, float | None]:
    name = "petstore_requests_given_up_total"
    return {reason: counted.registry.get_sample_value(name, {"reason": reason}) for reason in GIVEN_UP}


class TestBodies:
    def test_an_api_body(self, application: Application) -> None:
        got = body_of(application, "/v1/pets", b"ab", b"cd", content_length="4")
        assert got.body == b"/v1/pets 4 4 b'abcd'"

    def test_a_form(self, application: Application) -> None:
        got = body_of(application, "/admin/", b"a" * 300_000, content_length="300000")
        assert got.body == b"/admin/ 300000 300000 b'aaaaaaaaaaaaaaaaaaaa'"

    def test_a_chunked_form_has_a_length(self, application: Application) -> None:
        got = body_of(application, "/admin/", b"abc", b"", transfer_encoding="chunked")
        assert got.body == b"/admin/ 3 3 b'abc'"

    def test_a_long_api_body_is_not_read(self, application: Application) -> None:
        got = body_of(application, "/v1/pets", content_length="70000")
        assert (got.body, got.headers["Connection"]) == (b"/v1/pets 70000 0 b''", "close")

    def test_a_chunked_one_is_read_one_part_too_far(self, application: Application) -> None:
        got = body_of(application, "/v1/pets", *[b"x" * 40_000] * 3, transfer_encoding="chunked")
        assert (got.body, got.headers["Connection"]) == (b"/v1/pets None 80000 b'xxxxxxxxxxxxxxxxxxxx'", "close")

    def test_malformed_chunks_cannot_be_read(self, application: Application) -> None:
        got = body_of(application, "/v1/pets", b"x", None, transfer_encoding="chunked")
        assert (got.status, json_of(got)["code"]) == (500, "internal_error"), "it fails where the view reads it"

    @pytest.mark.parametrize(
        ("parts", "length", "expected"),
        [
            ([b"x", None], "100", (400, INCOMPLETE)),
            ([], str(LARGEST_FORM + 1), (413, TOO_LARGE)),
        ],
    )
    def test_a_form_that_cannot_be_used(
        self, application: Application, parts: list[bytes | None], length: str, expected: tuple[int, str]
    ) -> None:
        got = body_of(application, "/admin/", *parts, content_length=length)
        assert (got.status, message_of(got)) == expected
        assert got.headers["Connection"] == "close"

    @pytest.mark.parametrize("room", [0, 290_000])
    def test_a_form_that_the_disk_has_no_room_for(
        self, application: Application, room: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        full = SmallDisk(tmp_path / "form", room)
        monkeypatch.setattr("tempfile.TemporaryFile", lambda **_how: BufferedRandom(full))
        got = body_of(application, "/admin/", *[b"x" * 300] * 1000, content_length="300000")
        assert (got.status, message_of(got), got.headers["Retry-After"], got.headers["Request-Outcome"]) == (
            503,
            "The service is temporarily unavailable. Wait a moment, then reload the page. "
            "Check whether your change was saved before you send it again.",
            "30",
            "not-done",
        )

    def test_a_chunked_form_that_is_too_large(self, application: Application) -> None:
        parts = [b"x" * 2**20] * (LARGEST_FORM // 2**20 + 1)
        got = body_of(application, "/admin/", *parts, transfer_encoding="chunked")
        assert got.status == 413

    def test_a_body_that_does_not_come(self, application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("petstore_site.serving.door.PART_SECONDS", 0.05)
        with at_most(20):  # less than `TOTAL_SECONDS`
            got = body_of(application, "/admin/", content_length="5")
        assert message_of(got) == INCOMPLETE

    @pytest.mark.parametrize(("path", "status"), [("/admin/", 400), ("/v1/pets", 200)])
    def test_a_body_that_comes_in_drops(
        self, application: Application, monkeypatch: pytest.MonkeyPatch, path: str, status: int
    ) -> None:
        """Each part in time, and all of them not."""
        monkeypatch.setattr("petstore_site.serving.door.TOTAL_SECONDS", 0.5)
        drops = scope(path, "POST", content_length="600")
        with at_most(20):
            got = asyncio.run(ask(Door(application, 1), drops, [b"x"] * 600, every=0.05))
        assert (got.status, got.headers["Connection"]) == (status, "close")


async def begun(application: Application, door: Door, *asked: tuple[str, str]) -> list[asyncio.Task[Got]]:
    """Send these requests, and return them when the application has all of them at once."""
    wanted = application.called + len(asked)
    tasks = [asyncio.create_task(ask(door, scope(path, method))) for method, path in asked]
    await asyncio.to_thread(until, lambda: application.called == wanted, seconds=20)
    return tasks


async def end(application: Application, tasks: list[asyncio.Task[Got]]) -> None:
    application.go.set()
    assert [each.status for each in await asyncio.gather(*tasks)] == [200] * len(tasks)
    application.go.clear()


READS = [("GET", "/v1/wait")] * 3
WHOLE = (
    [("POST", "/v1/wait"), ("POST", "/admin/wait"), ("GET", "/v1/wait")],
    [("POST", "/v1/wait"), ("POST", "/v1/wait"), ("GET", "/admin/wait")],
    READS,
)
"""What three threads serve at once: writes leave one of them to others, and pages are made one by one."""


@pytest.mark.parametrize("asked", [("POST", "/v1/wait"), ("GET", "/v1/wait"), ("GET", "/admin/wait")])
@pytest.mark.parametrize(
    "fault", ["is rejected", "goes away while it waits", "goes away", "is late", "fails", "is not read"]
)
def test_after_a_fault_as_many_are_served_at_once_as_before(
    application: Application, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, str], fault: str
) -> None:
    """One place that is not given back would be missed, or a request that still counts as waiting."""
    method, path = asked

    async def trouble(door: Door) -> None:
        if fault in {"is rejected", "goes away while it waits"}:
            monkeypatch.setattr(threads, "QUEUE_SECONDS", 0.1 if fault == "is rejected" else 60)
            others = await begun(application, door, *READS)
            waits = asyncio.create_task(ask(door, scope(path, method)))
            done, _ = await asyncio.wait([waits], timeout=0.1 if fault != "is rejected" else 20)
            assert [each.result().status for each in done] == ([503] if fault == "is rejected" else [])
            waits.cancel()
            await end(application, others)
        elif fault == "is late":
            monkeypatch.setattr(threads, "DEADLINE", 0.1)
            monkeypatch.setattr(threads, "FORM_DEADLINE", 0.1)
            assert (await ask(door, scope(path, method))).status == 503
            application.go.set()
        elif fault == "goes away":
            [runs] = await begun(application, door, asked)
            runs.cancel()
            application.go.set()
        elif fault == "fails":
            assert (await ask(door, scope(path.replace("wait", "fails"), method))).status == 500
        else:
            broken = mock.AsyncMock(side_effect=BrokenPipeError)
            with pytest.raises(BrokenPipeError):
                await door(scope(path.replace("wait", "long"), method), mock.AsyncMock(), broken)
        await asyncio.sleep(0.1)
        application.go.clear()

    async def serve() -> None:
        door = Door(application, 3)
        await trouble(door)
        monkeypatch.setattr(threads, "DEADLINE", 60)
        monkeypatch.setattr(threads, "QUEUE_SECONDS", 60)
        monkeypatch.setattr(threads, "MOST_WAITING", 1)
        for some in WHOLE:
            await end(application, await begun(application, door, *some))

    asyncio.run(serve())


class TestThreads:
    def test_a_long_response_comes_in_large_parts(self, application: Application) -> None:
        got = asyncio.run(ask(Door(application, 1), scope("/docs/long")))
        assert [len(part) for part in got.parts] == [66_000, 66_000, 66_000, 66_000, 36_000]
        assert application.closed == 1

    def test_the_first_part_leaves_before_the_second_is_made(self, application: Application) -> None:
        """However long that takes: a file of Activity asks the database only then."""

        async def read() -> list[dict[str, Any]]:
            sent: list[dict[str, Any]] = []

            async def send(message: dict[str, Any]) -> None:
                sent.append(message)
                if message.get("body"):
                    application.go.set()

            await Door(application, 1)(scope("/docs/made"), lambda: asyncio.sleep(60, {}), send)
            return sent

        head, *parts = asyncio.run(read())
        assert (head["status"], [part["body"] for part in parts]) == (200, [b"first\n", b"second\n"])

    def test_a_response_that_has_begun_may_take_longer(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def respond() -> Got:
            loop = asyncio.get_running_loop()
            monkeypatch.setattr(loop, "time", lambda: time.monotonic() + application.later)
            return await ask(Door(application, 1), scope("/docs/slow"))

        got = asyncio.run(respond())
        assert (got.status, len(got.body)) == (200, 500_000)

    def test_a_late_response_is_given_up(
        self,
        application: Application,
        monkeypatch: pytest.MonkeyPatch,
        counted: Metrics,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level("INFO", "petstore.requests")
        monkeypatch.setattr(threads, "DEADLINE", 0.1)
        monkeypatch.setattr(application, "go", threading.Event())

        async def both() -> tuple[Got, Got]:
            door = Door(application, 1)
            late = await ask(door, scope("/v1/wait", "POST"))
            monkeypatch.setattr(threads, "DEADLINE", 60)
            application.go.set()
            return late, await ask(door, scope("/v1/pets"))

        late, after = asyncio.run(both())
        assert (late.status, json_of(late)) == (503, UNAVAILABLE)
        assert (late.headers["Retry-After"], late.headers["Request-Outcome"]) == ("2", "unknown")
        assert after.status == 200
        assert given_up(counted) == {"deadline": 1, "no_thread": 0}
        assert [each.name for each in caplog.records] == ["petstore_site.errors"], "the thread logs the request"

    def test_a_client_that_sends_slowly_has_all_the_time_after_it(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "DEADLINE", 2)
        slow = scope("/v1/pets", "POST", content_length="3")
        got = asyncio.run(ask(Door(application, 1), slow, [b"a", b"b", b"c"], every=0.7))
        assert got.status == 200

    def test_who_would_wait_too_long_is_rejected(
        self, application: Application, monkeypatch: pytest.MonkeyPatch, counted: Metrics
    ) -> None:
        monkeypatch.setattr(threads, "QUEUE_SECONDS", 0.1)

        async def both() -> tuple[Got, Got]:
            door = Door(application, 1)
            first = asyncio.ensure_future(ask(door, scope("/v1/wait")))
            await asyncio.sleep(0.05)
            rejected = await ask(door, scope("/v1/pets", "POST"))
            application.go.set()
            return await first, rejected

        first, rejected = asyncio.run(both())
        assert (first.status, rejected.status, json_of(rejected)) == (200, 503, UNAVAILABLE)
        assert (rejected.headers["Retry-After"], rejected.headers["Request-Outcome"]) == ("1", "not-done")
        assert rejected.headers["Cache-Control"] == "private, no-cache"
        assert given_up(counted) == {"deadline": 0, "no_thread": 1}

    @pytest.mark.parametrize("before", [0.4, 5], ids=["there is a little left", "there is none left"])
    def test_nobody_waits_for_a_thread_beyond_the_deadline(
        self, application: Application, monkeypatch: pytest.MonkeyPatch, before: float
    ) -> None:
        """As after a plain read that got no connection to the database in time."""
        monkeypatch.setattr(threads, "DEADLINE", 0.5)

        async def second() -> None:
            behind = threads.Threads(application, 1)
            first = asyncio.ensure_future(behind.respond(_request(time.perf_counter() + 60), mock.AsyncMock()))
            await asyncio.sleep(0.05)
            with at_most(20), pytest.raises(OverloadError):
                await behind.respond(_request(time.perf_counter() - before), mock.AsyncMock())
            application.go.set()
            await first
            with pytest.raises(OverloadError):
                await behind.respond(_request(time.perf_counter() - 5), mock.AsyncMock())

        asyncio.run(second())
        assert application.called == 1, "what is late is not begun in a free thread either"

    def test_a_long_queue_rejects_soon_but_not_at_once(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "MOST_WAITING", 0)
        begun = time.monotonic()
        with at_most(20):
            got = asyncio.run(ask(Door(application, 1), scope("/v1/pets")))
        assert (got.status, "Request-Outcome" in got.headers) == (503, False)
        assert time.monotonic() - begun >= 0.05, "requests that return at once take the time of those that are served"

    def test_who_would_wait_too_long_as_far_as_can_be_foreseen_is_rejected_at_once(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adapter, "MOST_SECONDS", 0)

        async def three() -> tuple[Got, list[int]]:
            door = Door(application, 1)
            await ask(door, scope("/v1/pets"))  # from now on it is known that a request takes some time
            others = [asyncio.ensure_future(ask(door, scope("/v1/wait"))) for _ in range(2)]
            await asyncio.sleep(0.05)
            with at_most(20):
                rejected = await ask(door, scope("/v1/pets", "POST"))
            application.go.set()
            return rejected, [each.status for each in await asyncio.gather(*others)]

        rejected, others = asyncio.run(three())
        assert (rejected.status, rejected.headers["Retry-After"], others) == (503, "1", [200, 200])

    def test_with_many_threads_a_queue_is_short(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is foreseen is how long each thread is kept, shared among all of them."""
        monkeypatch.setattr(adapter, "MOST_SECONDS", 0.15)

        async def eleven_wait() -> list[int]:
            door = Door(application, 20)
            asyncio.get_running_loop().call_later(0.4, application.go.set)
            await ask(door, scope("/v1/wait"))  # the forecast for eleven is now about 10 ms, and 200 ms for one thread
            application.go.clear()
            asked = [asyncio.ensure_future(ask(door, scope("/v1/wait"))) for _ in range(31)]
            await asyncio.sleep(0.3)
            application.go.set()
            return [each.status for each in await asyncio.gather(*asked)]

        assert asyncio.run(eleven_wait()) == [200] * 31

    def test_writers_leave_a_thread_to_readers(self, application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "QUEUE_SECONDS", 0.2)

        async def three() -> list[int]:
            door = Door(application, 2)
            writer = asyncio.ensure_future(ask(door, scope("/v1/wait", "POST")))
            await asyncio.sleep(0.05)
            another, reader = await asyncio.gather(ask(door, scope("/v1/pets", "POST")), ask(door, scope("/v1/pets")))
            application.go.set()
            return [each.status for each in (await writer, another, reader)]

        assert asyncio.run(three()) == [200, 503, 200]

    def test_pages_of_the_back_office_are_made_one_by_one(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next begins when one is done, or has run for a while."""

        async def called(times: int) -> None:
            await asyncio.to_thread(until, lambda: application.called >= times)

        async def all_begun() -> None:
            door = Door(application, 4)
            monkeypatch.setattr(threads, "PAGE_SECONDS", 0.1)
            await asyncio.gather(ask(door, scope("/admin/")), ask(door, scope("/admin/")))
            await asyncio.sleep(0.2)  # what is done does not end its turn again
            for seconds, begun in ((60, 1), (0.1, 3)):
                monkeypatch.setattr(threads, "PAGE_SECONDS", seconds)
                application.called = 0
                pages = [
                    asyncio.ensure_future(ask(door, scope("/admin/wait", method))) for method in ("GET", "HEAD", "GET")
                ]
                await called(begun)
                await ask(door, scope("/v1/pets"))
                assert application.called == begun + 1
                application.go.set()
                assert [each.status for each in await asyncio.gather(*pages)] == [200, 200, 200]
                assert application.called == 4
                application.go.clear()

        asyncio.run(all_begun())

    @pytest.mark.parametrize("methods", [("GET", "POST"), ("POST", "GET")])
    def test_a_form_and_a_page_do_not_wait_for_each_other(
        self, application: Application, methods: tuple[str, str]
    ) -> None:
        """A form may take long, as an import and a sign-in do."""

        async def both() -> Got:
            door = Door(application, 2)
            first = asyncio.ensure_future(ask(door, scope("/admin/wait", methods[0])))
            await asyncio.sleep(0.05)
            second = await asyncio.wait_for(ask(door, scope("/admin/", methods[1])), 20)
            application.go.set()
            await first
            return second

        assert asyncio.run(both()).status == 200

    def test_pages_that_wait_are_no_queue_for_others(
        self, application: Application, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "MOST_WAITING", 2)

        async def all_asked() -> list[int]:
            door = Door(application, 4)
            pages = [asyncio.ensure_future(ask(door, scope("/admin/wait"))) for _ in range(3)]
            await asyncio.sleep(0.05)
            others = [(await ask(door, scope(path))).status for path in ("/v1/pets", "/admin/")]
            application.go.set()
            await asyncio.gather(*pages)
            return others

        assert asyncio.run(all_asked()) == [200, 503]

    @pytest.mark.parametrize("path", ["/v1/wait", "/admin/wait"])
    def test_the_metrics_soon_say_how_many_run_and_wait(
        self, application: Application, counted: Metrics, path: str
    ) -> None:
        said: list[tuple[float | None, ...]] = []

        async def soon() -> None:
            await asyncio.sleep(0.3)
            names = ("petstore_threads_in_use", "petstore_requests_waiting")
            said.append(tuple(counted.registry.get_sample_value(name) for name in names))

        async def three_and_one_later() -> None:
            door = Door(application, 1)
            asked = [asyncio.ensure_future(ask(door, scope(path))) for _ in range(3)]
            await soon()
            asked.append(asyncio.ensure_future(ask(door, scope(path))))
            await soon()
            application.go.set()
            await asyncio.gather(*asked)
            await soon()

        asyncio.run(three_and_one_later())
        assert said == [(1, 2), (1, 3), (0, 0)]

    def test_a_part_after_the_deadline_is_sent_to_no_one(self, application: Application) -> None:
        async def give_up() -> None:
            environ = {"PATH_INFO": "/long", "wsgi.input": BytesIO()}
            job = threads.Job(application, environ, send, leave, seconds=60)
            job.give_up()
            job.run()
            with pytest.raises(LateError):
                await job.wait()
            await asyncio.sleep(0)

        send, leave = mock.AsyncMock(), mock.Mock()
        asyncio.run(give_up())
        assert (application.closed, send.call_count, leave.call_count) == (1, 0, 1)


def _request(started: float) -> Request:
    """Return a request that waits in the application, and began at this time."""
    request = Request(scope("/v1/wait"))
    request.started = started
    return request


def test_livez_needs_no_thread(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_WAITING", 0)
    got, head = (asyncio.run(ask(Door(application, 1), scope("/livez", method))) for method in ("GET", "HEAD"))
    assert (got.status, got.body, got.headers["Content-Length"]) == (200, b'{"status": "alive"}', "19")
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "19")


@pytest.mark.django_db(transaction=True)
def test_readyz_needs_no_thread_either(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "QUEUE_SECONDS", 0)
    got = asyncio.run(ask(Door(application, 1), scope("/readyz")))
    assert (got.status, json.loads(got.body)["status"]) == (200, "ready")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/livez", "/readyz"])
@pytest.mark.parametrize("host", ["10.0.0.7", "10.0.0.7:8000", "[::1]", "evil.example", ""])
def test_a_balancer_may_send_any_host(application: Application, path: str, host: str) -> None:
    """It knows the address of an instance, not the names that it serves."""
    door = Door(application, 1)
    got, ours = (asyncio.run(ask(door, scope(path, host=one))) for one in (host, "localhost"))
    assert (got.status, got.body) == (200, ours.body)
    assert got.headers.keys() == ours.headers.keys()


def test_a_thread_keeps_its_connections_to_the_cache(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    used: list[Any] = []

    def application(_environ: Any, start_response: Any) -> list[bytes]:
        used.append(caches["default"])
        start_response("200 OK", [])
        return [b""]

    async def two() -> None:
        door = Door(application, 1)
        await ask(door, scope("/a"))
        await ask(door, scope("/b"))

    asyncio.run(two())
    assert used[0] is used[1]


def test_repeated_headers(application: Application) -> None:
    asked = scope("/v1/a%20b?x=%20", cookie="a")
    asked["headers"] += [(b"cookie", b"b"), (b"idempotency-key", b"a"), (b"idempotency-key", b"b")]
    environ = Request(asked).environ()
    assert (environ["PATH_INFO"], environ["QUERY_STRING"], environ["HTTP_COOKIE"]) == ("/v1/a b", "x=%20", "a,b")
    assert environ["HTTP_IDEMPOTENCY_KEY"] == "sent twice"


@pytest.mark.parametrize("path", ["/v1/pets/a%2Fb", "/v1/pets/a%2fb"])
def test_an_encoded_slash_separates_nothing(path: str) -> None:
    request = Request(scope(path))
    assert (request.path, request.environ()["PATH_INFO"]) == ("/v1/pets/a%2Fb", "/v1/pets/a%2Fb")


def test_sqlite_knows_in_its_threads_who_acts() -> None:
    def who() -> Steps[Acting]:
        return acting()
        yield

    async def adding() -> Acting:
        begin_request("mine")
        identify("key Ab3dE6gH")
        return await OnSQLite(1).run(who())

    assert asyncio.run(adding()) == Acting("key Ab3dE6gH", "mine")


READ, WRITE = Statement("", {}), Statement("", {}, commits=True)


def one(statement: Statement) -> Steps[Any]:
    return (yield statement)


@pytest.fixture
def sqlite(monkeypatch: pytest.MonkeyPatch) -> mock.MagicMock:
    """The connection of each thread."""
    connection = mock.MagicMock()
    monkeypatch.setattr(threads, "connection", connection)
    return connection


@pytest.mark.usefixtures("sqlite")
def test_writes_that_wait_for_sqlite_delay_no_read_and_have_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    is_free = threading.Event()
    monkeypatch.setattr(statements, "run", lambda steps: next(steps).commits and is_free.wait(30))

    async def hang() -> None:
        driver = OnSQLite(1)
        first = asyncio.ensure_future(driver.run(one(WRITE), reads=False))
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await driver.run(one(READ))
            with pytest.raises(OverloadError):
                await driver.run(one(WRITE), time.perf_counter() + 0.1, reads=False)
        is_free.set()
        await first

    asyncio.run(hang())


@pytest.mark.parametrize(("left", "least", "most"), [(math.inf, 5000, 5000), (4, 1, 4000)])
def test_a_write_waits_for_sqlites_lock_until_its_deadline(
    sqlite: mock.Mock, monkeypatch: pytest.MonkeyPatch, left: float, least: int, most: int
) -> None:
    monkeypatch.setattr(statements, "run", next)
    asyncio.run(OnSQLite(1).run(one(WRITE), time.perf_counter() + left, reads=False))
    [executed] = sqlite.cursor.return_value.__enter__.return_value.execute.call_args.args
    assert least <= int(executed.removeprefix("PRAGMA busy_timeout = ")) <= most


@pytest.mark.usefixtures("sqlite")
def test_a_failed_step_keeps_no_cursor_of_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeing it in the event loop, the garbage collector waited until another write had the lock."""
    kept = []

    def fail(_steps: Any) -> None:
        cursor = BytesIO()
        kept.append(weakref.ref(cursor))
        raise OperationalError

    monkeypatch.setattr(statements, "run", fail)
    with pytest.raises(OperationalError):
        asyncio.run(OnSQLite(1).run(one(WRITE), reads=False))
    assert kept[0]() is None


def test_sqlite_rejects_what_it_could_not_begin_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_SECONDS", 0.001)
    monkeypatch.setattr(statements, "run", lambda _steps: time.sleep(0.1))

    async def overload() -> None:
        driver = OnSQLite(1)
        await driver.run(one(READ))
        driver.admit(reads=True)
        others = [asyncio.ensure_future(driver.run(one(READ))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadError):
            driver.admit(reads=True)
        await asyncio.gather(*others)

    asyncio.run(overload())
