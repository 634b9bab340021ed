"""Call the event loop's adapter in this thread, with its connection, so that a test's transaction holds for it too."""

from collections.abc import Callable, Coroutine, Iterable
from http import HTTPStatus
from typing import Any, TypeVar

from database.statements import Steps, run
from petstore_site.serving.adapter import Adapter
from rest.request import request_of

T = TypeVar("T")


class InThisThread:
    """A driver that never hands over control."""

    def admit(self, *, reads: bool) -> None:
        """Admit all."""

    async def run(self, steps: Steps[T], _latest: float, /, **_options: bool) -> T:
        return run(steps)

    async def run_for_key(self, steps: Steps[T]) -> T:
        return run(steps)


class AdapterFirst:
    """A WSGI application that responds as the event loop does, and leaves the rest to the application behind."""

    def __init__(self, application: Callable[..., Iterable[bytes]], driver: Any = None) -> None:
        self.application = application
        self.adapter = Adapter(driver or InThisThread())
        self.adapter._observe = _observe_at_once
        self.behind = 0
        """How many requests the adapter left to the application."""

    def __call__(self, environ: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
        response = at_once(self.adapter.respond(request_of(environ), _nothing))
        if response is None:
            self.behind += 1
            return self.application(environ, start_response)
        start_response(f"{response.status} {HTTPStatus(response.status).phrase}", list(response.headers.items()))
        return [response.body]


async def _nothing() -> None:
    """Read no body: the request has it."""


def _observe_at_once(record: Any) -> None:
    from petstore_site.serving.access import observe  # noqa: PLC0415 - it needs the models

    observe(record)


def at_once(waiting: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that never hands over control."""
    try:
        waiting.send(None)
    except StopIteration as done:
        returned: T = done.value
        return returned
    raise RuntimeError
