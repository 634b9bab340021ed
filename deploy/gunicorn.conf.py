"""Configure gunicorn: `gunicorn --config deploy/gunicorn.conf.py`, from any folder.

Under systemd, gunicorn takes the socket of petstore.socket by itself. docs/deadlines.md has the deadlines.
"""
# ruff: noqa: INP001, S603 - gunicorn loads this file by its path, and it only runs our own commands

import gc
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from errno import EACCES, EADDRINUSE
from functools import partial
from pathlib import Path

from gunicorn.arbiter import Arbiter

ROOT = Path(__file__).resolve().parent.parent
# Without the link to the release: a worker that is started later must not load what the link names by then.
sys.path[:] = [str(ROOT), *map(os.path.realpath, sys.path)]
os.environ["PETSTORE_SERVING"] = "true"

from petstore_site import settings  # noqa: E402 - needs the lines above
from petstore_site.configuration.env import exit_with  # noqa: E402
from server.guard import Guard  # noqa: E402
from server.worker import STOPPING, Worker  # noqa: E402


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


HOST, METRICS_HOST, METRICS_PORT = settings.HOST, settings.METRICS_HOST, settings.METRICS_PORT

# --- What gunicorn reads ---------------------------------------------------------------------------------------------

wsgi_app = "petstore_site.asgi:application"
chdir = str(ROOT)
bind = f"[{HOST}]:{settings.PORT}" if ":" in HOST else f"{HOST}:{settings.PORT}"


worker_class = Worker
workers = 1 + (settings.WEB_CONCURRENCY or _cores())  # the first does the long work of the back office
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - the heartbeat must not wait for a disk
max_requests = 250_000
max_requests_jitter = 25_000

timeout = 30
graceful_timeout = Worker.CONFIG_KWARGS["timeout_graceful_shutdown"] = 10
keepalive = 75  # longer than a proxy's (60 s by default): the proxy must be the one that closes

control_socket_disable = True


SWITCH_SECONDS = 0.0005
"""After how many seconds a thread that computes hands over to others.

With Python's 0.005, a list that came while four pages were made waited up to 0.35 s (lab/performance.md).
"""


# The service logs requests itself. gunicorn's own lines get the same form, also without secrets.
loglevel = settings.LOGGING["root"]["level"].lower()
logconfig_dict = settings.LOGGING | {
    "loggers": settings.LOGGING["loggers"] | {"gunicorn.error": {"handlers": [], "propagate": True}}
}

# --- Starting and stopping -------------------------------------------------------------------------------------------

IS_DETACHED = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by nohup


def on_starting(server: Arbiter) -> None:
    """Load the application once for all workers, so that a mistake in it stops the start; serve the metrics beside it.

    gunicorn says that it is ready only afterwards, and a worker takes no CPU to start.
    """
    if METRICS_PORT:
        try:
            family = socket.AF_INET6 if ":" in METRICS_HOST else socket.AF_INET
            socket.create_server((METRICS_HOST, METRICS_PORT), family=family).close()
        except OSError as error:
            name = "METRICS_PORT" if error.errno in (EACCES, EADDRINUSE) else "METRICS_HOST"
            exit_with([f"{name}: cannot listen: {error.strerror}."])
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="petstore-metrics-", dir=worker_tmp_dir)
        server.metrics_process = _serve_metrics()
    server.app.wsgi()

    from django.db import connections  # noqa: PLC0415 - not before the settings are read
    from django.urls import get_resolver  # noqa: PLC0415

    from petstore_site.serving.health import known_migrations  # noqa: PLC0415

    get_resolver().url_patterns  # noqa: B018 - reading it loads them
    known_migrations()
    connections.close_all()  # no worker must share one
    # A signal to stop waits until a new worker listens: the handlers of the master, which a fork copies, would lose it.
    blocked, free = (partial(signal.pthread_sigmask, how, STOPPING) for how in (signal.SIG_BLOCK, signal.SIG_UNBLOCK))
    os.register_at_fork(before=blocked, after_in_parent=free)
    gc.collect()
    gc.freeze()  # what is loaded stays: looking at it again takes a tenth of the time of an addition


def when_ready(_server: Arbiter) -> None:
    """End when the terminal does, if there is no nohup.

    gunicorn would go on with new workers, none of which does the long work.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN if IS_DETACHED else lambda *_: signal.raise_signal(signal.SIGTERM))


def _serve_metrics() -> subprocess.Popen[bytes]:
    # A process, because a thread could hold a lock while the master forks a worker. Its own session keeps Ctrl-C away:
    # it ends with the master.
    return subprocess.Popen(
        [sys.executable, "-m", "petstore_site.serving.metrics", METRICS_HOST, str(METRICS_PORT), str(os.getpid())],
        cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def pre_fork(server: Arbiter, worker: Worker) -> None:
    """Give the worker the lowest free number, which names its files of metrics."""
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(slot for slot in itertools.count() if slot not in taken)
    worker.master = os.getpid()


def post_fork(_server: Arbiter, worker: Worker) -> None:
    """Give the worker its files of metrics, and the guard its Errors."""
    from petstore_site.errors import reject  # noqa: PLC0415 - not before the settings are read
    from petstore_site.serving import metrics  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_SECONDS)
    metrics.slot = worker.slot
    if worker.slot == 0:  # it serves no requests
        from petstore_site.work import WorkLoop  # noqa: PLC0415 - as above

        worker.work = WorkLoop(worker.goes_on).run
    Guard.rejection = staticmethod(reject)
    # uvloop has closed the sockets before gunicorn does, at each stop.
    worker.log.error_log.addFilter(lambda record: not str(record.msg).startswith("Error while closing socket"))


def worker_exit(_server: Arbiter, worker: Worker) -> None:
    """Ignore signals to stop from here on: gunicorn would report one as if something were wrong."""
    if worker.pid == os.getpid():  # the master calls this too, for a worker that it does not find
        for stopping in STOPPING:
            signal.signal(stopping, signal.SIG_IGN)


def on_exit(server: Arbiter) -> None:
    """Stop serving the metrics and remove their files."""
    if METRICS_PORT:
        server.metrics_process.terminate()
        server.metrics_process.wait()
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
