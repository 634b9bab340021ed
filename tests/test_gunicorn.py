"""A real gunicorn with the configuration that ships: start, restart, metrics, stop."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

import pytest

from tests.flood import flood, request
from tests.server import ROOT, SECONDS, Gunicorn, free_port, listening, send, until


def get(port: int, path: str) -> tuple[int, str]:
    """Return status and body of a GET on a new connection, so that any worker may serve it."""
    answer = send(port, "GET", path)
    return answer.status, answer.body.decode()


Start = Callable[..., Gunicorn]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start gunicorn and stop it after the test."""
    started: list[Gunicorn] = []

    def start(root: Path = ROOT, listener: socket.socket | None = None, **variables: str) -> Gunicorn:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Gunicorn(folder, root, listener=listener, **variables))
        return started[-1]

    yield start
    for gunicorn in started:
        gunicorn.stop()


def ask_gunicorn(question: str) -> str:
    """Return what a program with the shipped configuration, that of `app`, prints."""
    program = f"import sys\nfrom gunicorn.app.wsgiapp import WSGIApplication\napp = WSGIApplication()\n{question}"
    command = [sys.executable, "-c", program, "--config", f"{ROOT}/deploy/gunicorn.conf.py"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_threads_that_compute_hand_over_often() -> None:
    """Lists that came while four pages were made waited fourteen times as long with Python's default."""
    assert (
        ask_gunicorn(
            "from types import SimpleNamespace as A; from unittest.mock import Mock; app.cfg.on_starting(A(app=app));"
            "app.cfg.post_fork(None, Mock(slot=1)); print(sys.getswitchinterval())"
        )
        == "0.0005\n"
    )


@pytest.mark.parametrize(
    ("variables", "mistakes"),
    [
        (
            {"PETSTORE_ENVIRONMENT": "nonsense", "THREADS": "0"},
            [
                "PETSTORE_ENVIRONMENT: must be one of production, staging, development.",
                "THREADS: must be a whole number from 1 to 64.",
            ],
        ),
        (
            {"PORT": "99999", "WEB_CONCURRENCY": "0"},
            [
                "PORT: must be a whole number from 1 to 65535.",
                "WEB_CONCURRENCY: must be a whole number from 1 to 256.",
            ],
        ),
    ],
    ids=["settings", "addresses"],
)
def test_mistakes_end_the_start_with_their_list(start: Start, variables: dict[str, str], mistakes: list[str]) -> None:
    gunicorn = start(**variables)
    assert gunicorn.process.wait(SECONDS) == 1
    lines = ["The service cannot start. Fix these settings:", *(f"  - {mistake}" for mistake in mistakes)]
    assert gunicorn.log.read_text().splitlines() == lines


@pytest.mark.parametrize(
    ("host", "mistake"),
    [
        ("127.0.0.1", "METRICS_PORT: cannot listen: Address already in use"),
        ("192.0.2.1", "METRICS_HOST: cannot listen: Cannot assign requested address"),
    ],
)
def test_metrics_that_cannot_be_served_end_the_start(start: Start, host: str, mistake: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gunicorn = start(METRICS_HOST=host, METRICS_PORT=str(taken.getsockname()[1]))
        assert gunicorn.process.wait(SECONDS) == 1
    assert f"  - {mistake}" in gunicorn.log.read_text()


def test_workers_count_together_and_the_public_port_shows_nothing(start: Start) -> None:
    metrics_port = free_port()
    gunicorn = start(METRICS_PORT=str(metrics_port))
    gunicorn.wait_until_ready()
    for _ in range(20):
        assert get(gunicorn.port, "/v1/pets")[0] == 401
    assert get(gunicorn.port, "/metrics")[0] == 404

    until(lambda: '"401"} 20.0' in get(metrics_port, "/metrics")[1])  # requests are counted after their responses
    os.kill(gunicorn.workers()[0], signal.SIGKILL)
    while len(gunicorn.workers()) < 3:
        assert get(gunicorn.port, "/livez")[0] == 200, "the other worker serves"
    for _ in range(20):
        assert get(gunicorn.port, "/v1/pets")[0] == 401
    until(lambda: '"401"} 40.0' in get(metrics_port, "/metrics")[1])
    status, text = get(metrics_port, "/metrics")
    assert status == 200
    assert 'petstore_requests_total{method="GET",route="pet-list",status="401"} 40.0' in text.splitlines()
    assert "/v1" not in text

    assert gunicorn.stop() == 0
    with pytest.raises(ConnectionRefusedError):
        get(metrics_port, "/metrics")


def test_no_connection_ends_unannounced(start: Start) -> None:
    """A client that sent an addition on it must not send it again."""
    gunicorn = start(GUNICORN_CMD_ARGS="--max-requests=500 --max-requests-jitter=0")
    gunicorn.wait_until_ready()
    with flood(gunicorn.port, cycle([request("GET", "/livez", "")]), connections=16) as calls:
        until(lambda: gunicorn.log.read_text().count("Worker exiting") >= 4)
    assert {call.status for call in calls} == {200}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the code, to be changed."""
    root = tmp_path / "code"
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests", "lab", "deploy"}
    for name in (*packages, "deploy", "templates"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    return root


def append(root: Path, code: str) -> None:
    """Add code to a file that is loaded at the start."""
    with (root / "petstore_site/serving/health.py").open("a") as file:
        file.write(f"\n\n{code}\n")


def booted(gunicorn: Gunicorn) -> list[int]:
    """Return the processes of the workers so far; what a failed one prints is no JSON."""
    return [int(pid) for pid in re.findall(r"Booting worker with pid: ([0-9]+)", gunicorn.log.read_text())]


@pytest.mark.parametrize(
    ("mistake", "reason"),
    [("raise ValueError('a mistake')", "ValueError: a mistake"), ("raise SystemExit('a mistake')", "a mistake")],
)
def test_a_first_start_that_cannot_load_ends_with_its_reason(
    start: Start, root: Path, mistake: str, reason: str
) -> None:
    append(root, mistake)
    gunicorn = start(root=root)
    assert gunicorn.process.wait(SECONDS) == 1
    assert reason in gunicorn.log.read_text()
    assert booted(gunicorn) == []


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listening() as listener:
        yield listener


@contextmanager
def losing_nothing(listener: socket.socket) -> Iterator[None]:
    """Send requests without a pause in the block, and before and after it; none may fail."""
    port = listener.getsockname()[1]
    with flood(port, cycle([request("GET", "/livez", "")]), connections=4) as calls:
        until(lambda: len(calls) > 100)
        yield
        enough = len(calls) + 100
        until(lambda: len(calls) > enough)
    assert {call.status for call in calls} == {200}


def test_a_restart_loses_no_request(start: Start, listener: socket.socket) -> None:
    gunicorn = start(listener=listener)
    with losing_nothing(listener):
        gunicorn.restart()


def test_a_release_that_cannot_be_loaded_loses_no_request(start: Start, listener: socket.socket, root: Path) -> None:
    good = start(listener=listener)
    with losing_nothing(listener):
        append(root, "import nothing_here")
        good.stop()
        assert start(root, listener).process.wait(SECONDS) != 0
        start(listener=listener)  # the way back


def test_a_killed_master_loses_no_request(start: Start, listener: socket.socket) -> None:
    gunicorn = start(listener=listener)
    with losing_nothing(listener):
        gunicorn.process.kill()
        start(listener=listener)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_worker_that_ends_is_not_hurried(start: Start, number: signal.Signals) -> None:
    """The master sends signals again and again; what the worker has not saved yet would be lost."""
    gunicorn = start(WEB_CONCURRENCY="1")
    gunicorn.wait_until_ready(workers=1)
    [pid] = gunicorn.workers()
    assert get(gunicorn.port, "/livez")[0] == 200
    with suppress(ProcessLookupError):
        while len(gunicorn.workers()) == 1:
            os.kill(pid, number)
    assert gunicorn.logged(f"Worker exiting (pid: {pid})")
    gunicorn.wait_until_ready(workers=2)
    assert not re.search("was sent|Error", gunicorn.log.read_text())


def start_with(hangup: signal.Handlers, start: Start) -> Gunicorn:
    """Start it as a shell does (SIG_DFL) or as nohup (SIG_IGN), whatever started the tests."""
    former = signal.signal(signal.SIGHUP, hangup)
    gunicorn = start()
    signal.signal(signal.SIGHUP, former)
    gunicorn.wait_until_ready()
    return gunicorn


def test_a_terminal_that_closes_ends_it(start: Start) -> None:
    gunicorn = start_with(signal.SIG_DFL, start)
    gunicorn.process.send_signal(signal.SIGHUP)
    assert gunicorn.process.wait(SECONDS) == 0


def test_a_terminal_that_closes_leaves_what_nohup_started(start: Start) -> None:
    gunicorn = start_with(signal.SIG_IGN, start)
    workers = gunicorn.workers()
    for pid in (*workers, gunicorn.process.pid):
        os.kill(pid, signal.SIGHUP)
    time.sleep(1.5)  # a worker looks each second whether it goes on
    assert (gunicorn.process.poll(), gunicorn.workers()) == (None, workers)


SLOW = """
import random, time
seed = random.seed
random.seed = lambda *given: (time.sleep(1), seed(*given))
"""
"""What a worker does before gunicorn gives it its own signals takes a second."""


def test_ctrl_c_while_a_worker_starts_ends_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    path, arguments = f"{tmp_path}:{ROOT}", "--graceful-timeout=60"
    gunicorn = Gunicorn(tmp_path, module="server", GUNICORN_CMD_ARGS=arguments, PYTHONPATH=path)
    until(lambda: len(gunicorn.workers(begins="Booting worker")) == 3)
    time.sleep(0.1)
    os.killpg(gunicorn.process.pid, signal.SIGINT)
    gunicorn.process.wait(40)


@pytest.mark.parametrize("seconds", [0, 0.3, 0.9, 1.8, 2.8])
def test_ctrl_c_during_the_start_ends_it_at_once_and_without_a_traceback(tmp_path: Path, seconds: float) -> None:
    """Until our first line, a moment after the start, it would be Python's."""
    gunicorn = Gunicorn(
        tmp_path,
        module="server",
        GUNICORN_CMD_ARGS="--graceful-timeout=60",
        PYTHONPATH=str(ROOT),
        PYTHONPROFILEIMPORTTIME="1",
    )
    until(lambda: gunicorn.logged(" gunicorn\n"))
    time.sleep(seconds)
    os.killpg(gunicorn.process.pid, signal.SIGINT)
    gunicorn.process.wait(40)
    log = gunicorn.log.read_text()
    assert "Traceback" not in log
    assert "SIG" not in log
