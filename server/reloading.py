"""Reload on SIGHUP: gunicorn's master would stop the old workers before the new ones respond. Keep a spare worker."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

CHECK_SECONDS = 60


class Reloading:
    """Checks the new code, starts its workers, and stops the old ones when the new ones are ready.

    The master goes on meanwhile. Signals that come while the code is checked lead to one more reload.
    """

    def __init__(self, server: Arbiter, check: Sequence[str], *, with_spare: bool) -> None:
        """Take over the signal, and how the master keeps the number of workers.

        New code is loaded if the command `check` succeeds. With a spare, one worker more is started when the others are
        ready. It waits for a slot.
        """
        self._server = server
        self._with_spare = with_spare
        self._spares = 0
        self._keep_number = server.manage_workers
        self._is_asked = False
        self._command = check
        self._check: Check | None = None
        self._old: dict[int, Worker] = {}
        server.handle_hup = self.ask
        server.manage_workers = self.manage

    def ask(self) -> None:
        """Reload soon."""
        self._is_asked = True

    def manage(self) -> None:
        """Do what is due. The master calls this at least once a second."""
        for pid in self._old:  # hidden from the master, which would wait for their end
            self._server.WORKERS.pop(pid, None)
        if self._old:
            return
        if self._check and self._check.is_done():
            self._end_check(self._check.mistakes())
        if self._is_asked and not self._check:
            self._is_asked, self._check = False, Check(self._command, self._server.cfg.chdir)
        workers = self._server.WORKERS.values()
        are_ready = all(map(is_ready, workers))
        if self._with_spare and are_ready and len(workers) == self._server.cfg.workers:
            self._spares = 1
        self._server.num_workers = self._server.cfg.workers + self._spares
        if are_ready or len(workers) <= self._server.num_workers:
            self._keep_number()

    def _end_check(self, mistakes: list[str]) -> None:
        self._check = None
        for line in mistakes:
            self._server.log.error(line)
        if not mistakes:
            self._old, self._spares = dict(self._server.WORKERS), 0
            try:
                self._server.reload()
            finally:
                self._server.WORKERS.update(self._old)
                self._old = {}


class Check:
    """A command that looks whether the application would start as it is now."""

    def __init__(self, command: Sequence[str], folder: str) -> None:
        """Start it in the folder."""
        self._name = " ".join(command[1:])
        self._began = time.monotonic()
        self._said: IO[str] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - it lasts as long as the check
        # The master reaps it, so that it must write its exit status.
        script = 'trap "" HUP; "$0" "$@" 2>&1; echo "exit $?"'
        self._process = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", script, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            start_new_session=True,
        )

    def is_done(self) -> bool:
        """Return whether it ended, or has had its time."""
        return self._is_late() or any(line.startswith("exit ") for line in self._lines()[-1:])

    def mistakes(self) -> list[str]:
        """Return the reasons why the code would not start, line by line, and end the check."""
        late = self._is_late()
        if late:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with self._said:
            lines = self._lines()
        if late:
            return [f"Not reloaded: {self._name} took more than {CHECK_SECONDS} s."]
        return [] if lines[-1] == "exit 0" else [*lines[:-1], f"Not reloaded: {self._name} failed."]

    def _is_late(self) -> bool:
        return time.monotonic() - self._began > CHECK_SECONDS

    def _lines(self) -> list[str]:
        self._said.seek(0)
        return self._said.read().splitlines()


def say_ready(worker: Worker) -> None:
    """Say in the file that master and worker share that the worker responds."""
    os.ftruncate(worker.tmp.fileno(), 1)


def is_ready(worker: Worker) -> bool:
    """Return whether the worker has said so."""
    return os.fstat(worker.tmp.fileno()).st_size > 0
