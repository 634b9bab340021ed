"""uvicorn's worker for gunicorn, with the guard on each connection, and a stop that announces itself.

gunicorn's master imports this package, so that it must import nothing of the application: the workers after a reload
load the new one.
"""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Container
from typing import Any

from uvicorn import Server
from uvicorn_worker import UvicornWorker

from server.guard import Guard
from server.last_load import LastLoad
from server.limits import Limits

LAST_SECONDS = 0.05  # that a worker waits after its last response, which is logged and counted a moment later
REPLACED_SECONDS = 60  # that a worker which should stop serves on for one that still loads
STOPPING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


class Worker(UvicornWorker):  # type: ignore[misc]  # it has no types
    """A worker. The configuration gives it `last_load` before it is forked, and the rest with the application."""

    CONFIG_KWARGS = {
        "http": Guard, "loop": "uvloop", "ws": "none", "lifespan": "off", "interface": "asgi3",
        "access_log": False, "server_header": False, "proxy_headers": False, "timeout_notify": 0,
    }  # fmt: skip

    last_load: LastLoad
    reject: Callable[[int, str], bytes]  # by status and the reason for the log, the whole response
    always_served: Container[bytes]  # the paths of probes, which find room in any case
    client_header: bytes  # in which a proxy names the client, in lower case; empty if clients connect themselves
    is_leaving = False  # whether each response says that its connection ends

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        Guard.worker = self
        self.limits = Limits(self.cfg.worker_connections)
        self.config.timeout_graceful_shutdown = self.cfg.graceful_timeout
        self.config.limit_max_requests = None  # see `notify`
        logging.getLogger("uvicorn.error").propagate = True
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)

    def init_signals(self) -> None:
        """End at once on a signal that comes while the application is loaded."""
        super().init_signals()
        for stopping in STOPPING:
            signal.signal(stopping, lambda *_: os._exit(0))

    def run(self) -> None:
        self.log.info("Worker ready (pid: %s)", self.pid)
        super().run()

    async def _serve(self) -> None:
        self.config.app = self.wsgi
        self._server = Server(self.config)
        self._server.handle_exit = self.handle_exit  # type: ignore[assignment]  # on SIGINT and SIGTERM
        for stopping in STOPPING:
            signal.signal(stopping, self.handle_exit)
        await self._server.serve(sockets=self.sockets)
        for stopping in STOPPING:  # the master sends them until it has ended, and what it counted must be saved
            signal.signal(stopping, signal.SIG_IGN)
        await asyncio.sleep(LAST_SECONDS)

    def notify(self) -> None:
        """Say each second that the worker runs. Stop without a master, or after `max_requests` if one can follow."""
        super().notify()
        if self.ppid != os.getppid():
            self._server.should_exit = True
        elif self.nr >= self.max_requests and self.last_load.begin_replacement():
            self.log.info("Worker stops after %d requests.", self.nr)
            self._server.should_exit = True

    def handle_exit(self, _signal: int, _frame: object) -> None:
        """Stop when a worker that is to replace this one has loaded, or soon."""
        self._leave_when_replaced(time.monotonic() + REPLACED_SECONDS)

    def _leave_when_replaced(self, latest: float) -> None:
        if self.last_load.is_awaited() and time.monotonic() < latest:
            asyncio.get_running_loop().call_later(LAST_SECONDS, self._leave_when_replaced, latest)
        else:
            self._server.should_exit = True
