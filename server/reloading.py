"""Reload what can be loaded, and nothing else: gunicorn ends the old workers before the new ones have loaded anything.

gunicorn's master imports this file, so that it must import nothing of the application.
"""

import os
import signal
import sys
import time
from typing import Any

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from server.last_load import LastLoad

TRY_SECONDS = 60  # that loading may take before a reload is rejected
RETRY_SECONDS = 5  # that a worker which could not load waits before it ends and another one tries


def reload_what_loads(server: Arbiter) -> None:
    """On SIGHUP, let gunicorn reload if a process like the new workers can load the application."""
    reload, stop, last_load = server.handle_hup, server.stop, LastLoad(server.last_load.fileno())

    def handle_hup() -> None:
        os.chdir("/")  # gunicorn cannot reload in a folder that was removed
        if _can_load(server):
            last_load.begin_replacement()  # the old workers wait for it
            reload()
        else:
            last_load.note(failed=True)
            server.log.error("Not reloaded: what is on disk cannot be loaded. The workers go on with what they have.")

    def stop_all(graceful: bool = True) -> None:  # noqa: FBT001, FBT002 - as in gunicorn
        last_load.note(failed=False)  # the old workers wait no longer
        stop(graceful)

    server.handle_hup, server.stop = handle_hup, stop_all


def end(server: Arbiter, worker: Worker) -> None:
    """End a worker. One that could not load ends the service at its first start; later, it only waits.

    gunicorn would end the service each time, and start workers that cannot load one after the other without a pause.
    """
    status = getattr(sys.exc_info()[1], "code", 0)
    if not worker.booted:
        _log_message(server, status)
        last_load = LastLoad(server.last_load.fileno())
        if not last_load.is_known():
            raise SystemExit(server.WORKER_BOOT_ERROR)
        last_load.note(failed=True)
        time.sleep(RETRY_SECONDS)
    raise SystemExit(1 if status else 0)


def _can_load(server: Arbiter) -> bool:
    """Do in a process of its own what a reload does up to the first request."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    status = 1
    try:
        signal.alarm(TRY_SECONDS)
        server.app.reload()
        server.setup(server.app)
        worker: Any = server.cfg.worker_class(0, 0, [], server.app, TRY_SECONDS, server.cfg, server.log)
        worker.run = lambda: None
        server.cfg.pre_fork(server, worker)
        server.cfg.post_fork(server, worker)
        worker.init_process()
        status = 0
    except SystemExit as error:
        _log_message(server, error.code)
    except BaseException:
        server.log.exception("It cannot be loaded")
    finally:
        os._exit(status)


def _log_message(server: Arbiter, status: object) -> None:
    """Log what Python would print when the process ends."""
    if isinstance(status, str):
        server.log.error(status)
