"""Call the door as a server does, in this process."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import OperationalError

from database.errors import committing
from database.statements import Row
from petstore_site.serving.door import Door


class Got(NamedTuple):
    """A response, and the parts that its body came in."""

    status: int
    headers: dict[str, str]
    parts: list[bytes]

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)


class BreaksInCommit:
    """A driver that finds a good key for every request, and loses its connection in the COMMIT of each."""

    def __init__(self, pk: int = 1, scope: str = "write") -> None:
        self.key: Row = (pk, "Ab3dE6gH", "Shop", scope, "", None, None, pk)

    def admit(self, *, reads: bool) -> None:
        """Admit all."""

    async def run(self, steps: Any, _latest: float, /, **_options: bool) -> Any:
        next(steps)
        with committing():
            raise OperationalError

    async def run_for_key(self, _steps: Any) -> list[Row]:
        return [self.key]


def scope(path: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    """Return the scope of a request; `headers` with _ for -."""
    sent = {"host": "localhost"} | {name.replace("_", "-").lower(): value for name, value in headers.items()}
    target, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50000),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
    }


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block takes longer: many times what it takes, since a busy machine may do nothing for seconds."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


async def ask(door: Door, asked: dict[str, Any], body: Sequence[bytes | None] = (), *, every: float = 0) -> Got:
    """Return the response; a part of the body arrives `every` so many seconds, and None says that the client is gone."""
    messages = [_message(part, more=index < len(body) - 1) for index, part in enumerate(body)]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.sleep(60)
        await asyncio.sleep(every)
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await door(asked, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], headers, [message["body"] for message in sent[1:]])


def _message(part: bytes | None, *, more: bool) -> dict[str, Any]:
    if part is None:
        return {"type": "http.disconnect"}
    return {"type": "http.request", "body": part, "more_body": more}
