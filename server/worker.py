"""uvicorn's worker for gunicorn, with the guard on each connection, and a stop that announces itself."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from typing import Any

import uvloop
from uvicorn import Server
from uvicorn_worker import UvicornWorker

from server.guard import Guard

LAST_SECONDS = 0.05  # that a worker waits after its last response, which is logged and counted a moment later
STOPPING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


class Worker(UvicornWorker):  # type: ignore[misc]  # it has no types
    """A worker."""

    CONFIG_KWARGS = {
        "http": Guard, "loop": "uvloop", "ws": "none", "lifespan": "off", "interface": "asgi3",
        "access_log": False, "server_header": False, "proxy_headers": False, "timeout_notify": 0,
    }  # fmt: skip

    work: Callable[[], None] | None = None
    """What it does instead of serving, as long as `goes_on` returns True."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.config.timeout_graceful_shutdown = self.cfg.graceful_timeout
        logging.getLogger("uvicorn.error").propagate = True
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)

    def run(self) -> None:
        self.config.app = self.wsgi
        self._server = Server(self.config)
        for stopping in STOPPING:
            signal.signal(stopping, self.handle_exit)
        if self.work is None:
            self.log.info("Worker ready (pid: %s)", self.pid)
            uvloop.run(self.serve())
            return
        self.log.info("Long work begins (pid: %s)", self.pid)
        for listener in self.sockets:
            listener.close()
        self.work()

    def goes_on(self) -> bool:
        """Return whether it should do more work, and say that it does."""
        super().notify()
        return bool(self.alive and self.ppid == os.getppid())

    async def serve(self) -> None:
        await self._server.serve(sockets=self.sockets)
        for stopping in STOPPING:  # the master sends them until it has ended, and what it counted must be saved
            signal.signal(stopping, signal.SIG_IGN)
        await asyncio.sleep(LAST_SECONDS)

    def notify(self) -> None:
        """Say each second that the worker runs. Stop without a master."""
        if not self.goes_on():
            self._server.should_exit = True

    def handle_exit(self, _signal: int, _frame: object) -> None:
        self.alive = False
        self._server.should_exit = True
