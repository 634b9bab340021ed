"""gunicorn's asynchronous worker, with a stop that announces itself.

gunicorn's master imports this package, so that it must import nothing of the application: the workers after a reload
load the new one.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Container
from functools import partial
from typing import Any

from gunicorn.workers import gasgi

from server.last_load import LastLoad
from server.limits import Limits
from server.protocol import Protocol

IDLE_SECONDS = 3
"""How long idle connections stay open when the worker stops: longer than in a proxy (deploy/nginx/petstore.conf).

Who sends a request on a connection that is just being closed gets no response.
"""

LAST_SECONDS = 0.05
"""How long a worker waits after its last response, which is logged and counted a moment later."""

REPLACED_SECONDS = 6
"""How long a worker that should stop serves on for one that still loads. It must end within `graceful_timeout`."""

LEAVING_SECONDS = 0.1
"""How long a worker announces with each response that the connection ends, before it stops.

When it stops, gunicorn closes connections at once, even if the last response said that they stay open.
"""


gasgi.ASGIProtocol = Protocol  # gunicorn has no setting for it


class Worker(gasgi.ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """A worker that stops without waiting long for idle connections.

    The configuration gives it `last_load` before it is forked, and the rest when it has loaded the application.
    """

    last_load: LastLoad
    reject: Callable[[int, str, str], bytes]
    """Return the whole response to a request that cannot be served.

    By its status, the reason for the log, and the message for the client; if that is empty, it is that of the code.
    """
    always_served: Container[bytes]
    """The paths of probes, which find room in any case."""
    client_header: bytes
    """The header in which a proxy names the client, in lower case; empty if clients connect themselves."""
    is_leaving = False
    """Whether each response says that its connection ends."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.protocols: set[Protocol] = set()
        self.limits = Limits(self.worker_connections)
        self._most_requests: int = self.max_requests  # type: ignore[has-type]
        self.max_requests = sys.maxsize

    def init_signals(self) -> None:
        """End at once on a signal that comes while the application is loaded: the loop takes it too late."""
        for stopping in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(stopping, lambda *_: os._exit(0))

    def run(self) -> None:
        """Serve."""
        self.log.info("Worker ready (pid: %s)", self.pid)
        super().run()

    def notify(self) -> None:
        """Say each second that the worker runs, and stop it after `max_requests` if another one can take its place."""
        super().notify()
        if self.nr >= self._most_requests and self.last_load.begin_replacement():
            self.log.info("Worker stops after %d requests.", self.nr)
            self._leave()

    def handle_exit_signal(self) -> None:
        """Stop when a worker that is to replace this one has loaded, or soon."""
        self._leave_when_replaced(self.loop.time() + REPLACED_SECONDS)

    def _leave_when_replaced(self, latest: float) -> None:
        if self.last_load.is_awaited() and self.loop.time() < latest:
            self.loop.call_later(LAST_SECONDS, self._leave_when_replaced, latest)
        else:
            self._leave()

    def _leave(self) -> None:
        """Stop in a moment; until then, each response says that its connection ends."""
        self.is_leaving = True
        self.loop.call_later(LEAVING_SECONDS, super().handle_exit_signal)

    async def _serve(self) -> None:
        super().init_signals()
        self.loop.create_server = partial(self.loop.create_server, backlog=self.cfg.backlog)  # its default is 100
        await super()._serve()

    async def _shutdown(self) -> None:
        self.loop.call_later(IDLE_SECONDS, self._close_idle)
        await super()._shutdown()
        await asyncio.sleep(LAST_SECONDS)

    def _close_idle(self) -> None:
        for protocol in list(self.protocols):
            protocol.close_if_idle()
