"""Configure gunicorn: `gunicorn --config deploy/gunicorn.conf.py`, from any folder.

The master loads neither our code nor Django, so that workers started after a SIGHUP load the new code. Name this file
with the link to the release (docs/install.md): a SIGHUP follows it.
docs/deadlines.md has the deadlines.
"""
# ruff: noqa: INP001, S603 - gunicorn loads this file by its path, and it only runs our own commands

import gc
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gunicorn.arbiter import Arbiter

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
READ_SETTINGS = """\
import json, signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
from petstore_site import settings
from petstore_site.configuration import static_files
if static_files.are_missing(settings):
    raise SystemExit(static_files.MISSING)
print(json.dumps({"logging": settings.LOGGING, "behind_proxy": settings.BEHIND_TLS_PROXY}))
"""


def _enter_release() -> None:
    """Import from this release alone. Before a SIGHUP it may have been another one, with packages of its own."""
    venv = Path(sys.prefix).resolve()
    before = {ROOT, venv.parent} if sys.prefix != sys.base_prefix else {ROOT}
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        if not name.startswith(("__", "gunicorn")) and before & set(file.parents):
            del sys.modules[name]
    paths = [os.path.realpath(path) for path in sys.path]  # without the link, which may soon name another release
    if VENV.is_dir() and venv.name == VENV.name:  # not an environment that lies elsewhere
        paths = [path.replace(f"{venv}/", f"{VENV}/", 1) for path in paths]
        sys.prefix, sys.executable = str(VENV), str(VENV / "bin" / "python")
    sys.path[:] = [str(ROOT), *paths]


_enter_release()
from petstore_site.configuration.env import exit_with  # noqa: E402 - needs the path above
from petstore_site.configuration.variables import env as environment_variables  # noqa: E402
from server.last_load import LastLoad  # noqa: E402
from server.reloading import end, reload_what_loads  # noqa: E402
from server.worker import Worker  # noqa: E402

# --- Environment variables: a mistake must stop the start here, not in workers that restart forever -----------------


def _settings() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", READ_SETTINGS], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise SystemExit(done.returncode)  # the message is on stderr
    settings: dict[str, Any] = json.loads(done.stdout)
    return settings


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


settings = _settings()
env = environment_variables()
HOST = env["HOST"]
PORT = env["PORT"]
METRICS_HOST = env["METRICS_HOST"]
METRICS_PORT = env["METRICS_PORT"]
if METRICS_PORT == PORT:
    env.reject("METRICS_PORT", "must differ from PORT, because metrics are not public.")

# --- What gunicorn reads ---------------------------------------------------------------------------------------------

wsgi_app = "petstore_site.asgi:application"
chdir = str(ROOT)
bind = f"[{HOST}]:{PORT}" if ":" in HOST else f"{HOST}:{PORT}"


worker_class = Worker
workers = env["WEB_CONCURRENCY"] or _cores()
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - the heartbeat must not wait for a disk
max_requests = 250_000  # a start takes as much CPU as some thousand requests
max_requests_jitter = 25_000

timeout = 30
graceful_timeout = 10
keepalive = 75  # longer than a proxy's (60 s by default): the proxy must be the one that closes

control_socket_disable = True


SWITCH_SECONDS = 0.0005
"""After how many seconds a thread that computes hands over to others.

With Python's 0.005, a list that came while four pages were made waited up to 0.35 s (lab/performance.md).
"""


# The service logs requests itself. gunicorn's own lines get the same form, also without secrets.
loglevel = settings["logging"]["root"]["level"].lower()
logconfig_dict = settings["logging"] | {
    "loggers": settings["logging"]["loggers"] | {"gunicorn.error": {"handlers": [], "propagate": True}}
}

env.exit_on_mistakes()

# --- Starting, reloading and stopping --------------------------------------------------------------------------------


def on_starting(server: Arbiter) -> None:
    """Stop if the address of the metrics is not available."""
    server.last_load = tempfile.TemporaryFile(dir=worker_tmp_dir)  # noqa: SIM115 - it lasts as long as the master
    if not METRICS_PORT or "GUNICORN_PID" in os.environ:  # a binary upgrade waits until the old master frees it
        return
    try:
        family = socket.AF_INET6 if ":" in METRICS_HOST else socket.AF_INET
        socket.create_server((METRICS_HOST, METRICS_PORT), family=family).close()
    except OSError as error:
        exit_with([f"METRICS_PORT: cannot listen: {error.strerror}."])


def when_ready(server: Arbiter) -> None:
    """Serve the metrics. From now on, reload only code that can be loaded."""
    server.metrics_process = None
    if METRICS_PORT:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="petstore-metrics-", dir=worker_tmp_dir)
        _serve_metrics(server)
    reload_what_loads(server)


def on_reload(server: Arbiter) -> None:
    """Serve the metrics again if their process ended."""
    if METRICS_PORT and server.metrics_process.poll() is not None:
        _serve_metrics(server)


def _serve_metrics(server: Arbiter) -> None:
    # A process, because a thread could hold a lock while the master forks a worker. Its own session keeps Ctrl-C away:
    # it ends with the master.
    server.metrics_process = subprocess.Popen(
        [sys.executable, "-m", "petstore_site.requests.metrics",
         METRICS_HOST, str(METRICS_PORT), str(os.getpid()), str(server.last_load.fileno())],
        cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True, pass_fds=[server.last_load.fileno()],
    )  # fmt: skip


def pre_fork(server: Arbiter, worker: Worker) -> None:
    """Give the worker the lowest free number, which names its files of metrics."""
    worker.last_load = LastLoad(server.last_load.fileno())
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(slot for slot in itertools.count(1) if slot not in taken)


def post_fork(_server: Arbiter, worker: Worker) -> None:
    """Give the worker its signals, which the master would take for it otherwise, and its files of metrics."""
    worker.init_signals()
    sys.setswitchinterval(SWITCH_SECONDS)
    if METRICS_PORT:
        os.environ["METRICS_SLOT"] = str(worker.slot)


def post_worker_init(worker: Worker) -> None:
    """Load all addresses before the first request, so that a mistake in them stops the start, and what is slow."""
    from django.urls import get_resolver  # noqa: PLC0415 - the master must not keep it

    from petstore_site.public.errors import reject  # noqa: PLC0415
    from petstore_site.public.health import known_migrations  # noqa: PLC0415

    worker.reject = reject
    worker.always_served = {b"/livez"}
    worker.client_header = b"x-forwarded-for" if settings["behind_proxy"] else b""

    get_resolver().url_patterns  # noqa: B018 - reading it loads them
    known_migrations()
    gc.collect()
    gc.freeze()  # what is loaded stays: looking at it again takes a tenth of the time of an addition
    worker.last_load.note(failed=False)


def worker_exit(server: Arbiter, worker: Worker) -> None:
    """End the service if no worker ever loaded. Otherwise it stays, whatever a worker could not load."""
    end(server, worker)


def on_exit(server: Arbiter) -> None:
    """Stop serving the metrics and remove their files."""
    if METRICS_PORT:
        server.metrics_process.terminate()
        server.metrics_process.wait()
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
