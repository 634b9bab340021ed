"""uvicorn's worker for gunicorn, with the guard on each connection, and a stop that announces itself."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from typing import Any

from uvicorn_worker import UvicornWorker

from server.guard import Guard

STOPPING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
LAST_SECONDS = 0.05  # that a worker waits after its last response, which is logged and counted a moment later


class Worker(UvicornWorker):  # type: ignore[misc]  # it has no types
    """A worker."""

    CONFIG_KWARGS = {
        "http": Guard, "loop": "uvloop", "ws": "none", "lifespan": "off", "interface": "asgi3", "log_level": "warning",
        "access_log": False, "server_header": False, "proxy_headers": False, "timeout_notify": 0,
    }  # fmt: skip

    work: Callable[[], None] | None = None  # is done instead of serving, as long as `goes_on` returns True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # in the master, by nohup
        logging.getLogger("uvicorn.error").propagate = True

    def run(self) -> None:
        for stopping in STOPPING:
            signal.signal(stopping, self._leave)
        if self._is_detached:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        if self.work is None:
            self.log.info("Worker ready (pid: %s)", self.pid)
            super().run()
            return
        self.log.info("Long work begins (pid: %s)", self.pid)
        for listener in self.sockets:
            listener.close()
        self.work()

    async def _serve(self) -> None:
        await super()._serve()
        await asyncio.sleep(LAST_SECONDS)

    def _leave(self, *_: object) -> None:
        """Take a signal that comes before uvicorn listens to them, or after it has served."""
        self.alive = False

    def goes_on(self) -> bool:
        """Return whether it should do more work, and say that it does."""
        super().notify()
        return bool(self.alive and self.master == os.getppid())

    def notify(self) -> None:
        """Say each second that the worker runs. Stop without a master, or after a signal that uvicorn leaves to us."""
        if not self.goes_on():
            signal.raise_signal(signal.SIGTERM)
