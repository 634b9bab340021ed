"""A proxy between the event loop and its PostgreSQL, which ends a connection where a test says."""

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import cast
from unittest import mock

from django.db import connection


class Proxy:
    """Passes on what both sides send."""

    def __init__(self) -> None:
        self.left: int | None = None
        """The bytes from PostgreSQL that are still passed on; then the connection ends. None for all."""
        self.instead = b""
        """What is sent instead of the rest."""
        self.delay: float = 0
        """Seconds until a new connection is passed on."""
        self.serving: set[asyncio.Task[None]] = set()
        self._host, self._port = (connection.get_connection_params()[name] for name in ("host", "port"))

    async def serve(self, from_client: StreamReader, to_client: StreamWriter) -> None:
        self.serving.add(cast("asyncio.Task[None]", asyncio.current_task()))
        await asyncio.sleep(self.delay)
        from_server, to_server = await self._connect()
        await asyncio.gather(self._pass(from_client, to_server), self._pass_while_any_is_left(from_server, to_client))
        for each in (to_client, to_server):
            with suppress(ConnectionError):
                await each.wait_closed()

    async def _connect(self) -> tuple[StreamReader, StreamWriter]:
        if self._host.startswith("/"):
            return await asyncio.open_unix_connection(f"{self._host}/.s.PGSQL.{self._port}")
        return await asyncio.open_connection(self._host, self._port)

    async def _pass(self, reader: StreamReader, writer: StreamWriter) -> None:
        while part := await reader.read(65_536):
            writer.write(part)
        writer.close()

    async def _pass_while_any_is_left(self, reader: StreamReader, writer: StreamWriter) -> None:
        while self.left != 0 and (part := await reader.read(65_536)):
            passed = part[: self.left]
            writer.write(passed)
            if self.left is not None:
                self.left -= len(passed)
        writer.write(self.instead if self.left == 0 else b"")
        writer.close()


@asynccontextmanager
async def between() -> AsyncIterator[Proxy]:
    """Let new connections of the event loop go through a proxy in the block."""
    proxy = Proxy()
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        with mock.patch.dict(connection.settings_dict, HOST=host, PORT=str(port)):
            yield proxy
        await asyncio.gather(*proxy.serving)


@contextmanager
def silent() -> Iterator[tuple[str, int]]:
    """Run a server that accepts connections and says nothing in the block; new ones of the event loop reach it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        with mock.patch.dict(connection.settings_dict, HOST=host, PORT=str(port)):
            yield host, port
