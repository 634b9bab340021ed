"""A real gunicorn with the configuration that ships: start, reload, metrics, stop."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from server.reloading import RETRY_SECONDS
from tests.flood import fetch, flood, request
from tests.server import ROOT, SECONDS, Gunicorn, free_port, send, until


def get(port: int, path: str) -> tuple[int, str]:
    """Return status and body of a GET on a new connection, so that any worker may serve it."""
    answer = send(port, "GET", path)
    return answer.status, answer.body.decode()


Start = Callable[..., Gunicorn]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start gunicorn and stop it after the test."""
    started: list[Gunicorn] = []

    def start(root: Path = ROOT, **variables: str) -> Gunicorn:
        started.append(Gunicorn(tmp_path, root, **variables))
        return started[-1]

    yield start
    for gunicorn in started:
        gunicorn.stop()


def ask_gunicorn(question: str) -> str:
    """Return what a program with the shipped configuration, `cfg`, prints."""
    program = f"import sys\nfrom gunicorn.app.wsgiapp import WSGIApplication\ncfg = WSGIApplication().cfg\n{question}"
    command = [sys.executable, "-c", program, "--config", f"{ROOT}/deploy/gunicorn.conf.py"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_threads_that_compute_hand_over_often() -> None:
    """Lists that came while four pages were made waited fourteen times as long with Python's default."""
    assert (
        ask_gunicorn(
            "from types import SimpleNamespace; cfg.post_fork(None, SimpleNamespace(init_signals=int)); print(sys.getswitchinterval())"
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
        (
            {"PORT": "8000", "METRICS_PORT": "8000"},
            ["METRICS_PORT: must differ from PORT, because metrics are not public."],
        ),
    ],
    ids=["settings", "addresses", "the public port"],
)
def test_mistakes_end_the_start_with_their_list(start: Start, variables: dict[str, str], mistakes: list[str]) -> None:
    gunicorn = start(**variables)
    assert gunicorn.process.wait(SECONDS) == 1
    lines = ["The service cannot start. Fix these settings:", *(f"  - {mistake}" for mistake in mistakes)]
    assert gunicorn.log.read_text().splitlines() == lines


def test_metrics_port_in_use_ends_the_start(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gunicorn = start(METRICS_PORT=str(taken.getsockname()[1]))
        assert gunicorn.process.wait(SECONDS) == 1
    assert "  - METRICS_PORT: cannot listen: Address already in use" in gunicorn.log.read_text()


def test_workers_count_together_and_the_public_port_shows_nothing(start: Start) -> None:
    metrics_port = free_port()
    gunicorn = start(METRICS_PORT=str(metrics_port))
    gunicorn.wait_until_ready()
    for _ in range(20):
        assert get(gunicorn.port, "/v1/pets")[0] == 401
    assert get(gunicorn.port, "/metrics")[0] == 404

    until(lambda: '"401"} 20.0' in get(metrics_port, "/metrics")[1])  # requests are counted after their responses
    os.kill(gunicorn.workers()[0], signal.SIGKILL)
    gunicorn.wait_until_ready(workers=3)
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


def test_a_killed_worker_is_replaced_while_the_other_serves(start: Start) -> None:
    gunicorn = start()
    gunicorn.wait_until_ready()
    os.kill(gunicorn.workers()[0], signal.SIGKILL)
    while gunicorn.log.read_text().count("Worker ready") < 3:
        assert get(gunicorn.port, "/livez")[0] == 200


@pytest.mark.parametrize("arguments", ["--max-requests=500 --max-requests-jitter=0", ""], ids=["recycled", "reloaded"])
def test_no_connection_ends_unannounced(start: Start, arguments: str) -> None:
    """A client that sent an addition on it must not send it again."""
    gunicorn = start(GUNICORN_CMD_ARGS=arguments)
    gunicorn.wait_until_ready()

    def wait_until_ended(workers: int) -> None:
        until(lambda: gunicorn.log.read_text().count("Worker exiting") >= workers)

    with flood(gunicorn.port, cycle([request("GET", "/livez", "")]), connections=16) as calls:
        for workers in (2, 4):
            if not arguments:
                gunicorn.process.send_signal(signal.SIGHUP)
            wait_until_ended(workers)
    assert {call.status for call in calls} == {200}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("get", "/livez", ""), b"400"),
        (
            request("GET", "/livez", "", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: A"),
            b"200",
        ),
    ],
    ids=["malformed", "with an upgrade"],
)
def test_after_a_reload_the_parser_is_understood_too(start: Start, sent: bytes, status: bytes) -> None:
    gunicorn = start(WEB_CONCURRENCY="1")
    gunicorn.wait_until_ready(workers=1)
    gunicorn.process.send_signal(signal.SIGHUP)
    until(lambda: gunicorn.logged("Worker exiting"))
    assert fetch(gunicorn.port, sent)[0].split()[1:2] == [status]


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


def append(root: Path, code: str, name: str = "petstore_site/public/health.py") -> Callable[[], object]:
    """Add code to a file that every worker loads, and return what takes it away."""
    file = root / name
    before = file.read_text()
    file.write_text(f"{before}\n\n{code}\n")
    return partial(file.write_text, before)


def booted(gunicorn: Gunicorn) -> list[int]:
    """Return the processes of the workers so far; what a failed one prints is no JSON."""
    return [int(pid) for pid in re.findall(r"Booting worker with pid: ([0-9]+)", gunicorn.log.read_text())]


@pytest.mark.parametrize(
    ("mistake", "reason"),
    [("raise RuntimeError('a mistake')", "RuntimeError: a mistake"), ("raise SystemExit('a mistake')", "a mistake")],
)
def test_a_first_start_that_cannot_load_ends_with_its_reason(
    start: Start, root: Path, mistake: str, reason: str
) -> None:
    append(root, mistake)
    gunicorn = start(root=root, WEB_CONCURRENCY="1")  # of two that fail at once, the second can make the status 1
    assert gunicorn.process.wait(SECONDS) == 3
    assert reason in gunicorn.log.read_text()
    assert gunicorn.logged("Reason: Worker failed to boot.")
    assert len(booted(gunicorn)) == 1


def failed_loads(gunicorn: Gunicorn) -> int:
    return gunicorn.log.read_text().count("exited with code 1.")


def last_load_failed(port: int) -> bool:
    [line] = [line for line in get(port, "/metrics")[1].splitlines() if line.startswith("petstore_last_load_failed ")]
    return line == "petstore_last_load_failed 1.0"


def test_workers_that_serve_go_on_whatever_is_on_disk(start: Start, root: Path) -> None:
    """Those that replace others try every five seconds, until there is something to load again."""
    metrics_port = free_port()
    gunicorn = start(root=root, METRICS_PORT=str(metrics_port))
    gunicorn.wait_until_ready()
    before = append(root, "import nothing_here")
    first, second = booted(gunicorn)
    began = time.monotonic()
    os.kill(first, signal.SIGTERM)
    until(lambda: failed_loads(gunicorn) >= 3)
    assert time.monotonic() - began > 2 * RETRY_SECONDS, "it must not keep a core busy"
    assert {get(gunicorn.port, "/livez")[0] for _ in range(20)} == {200}
    assert last_load_failed(metrics_port)

    os.kill(second, signal.SIGTERM)  # no one serves, but the service does not end
    until(lambda: failed_loads(gunicorn) >= 5)
    before()
    gunicorn.wait_until_ready(workers=4)
    assert get(gunicorn.port, "/livez")[0] == 200
    assert not last_load_failed(metrics_port)
    assert gunicorn.stop() == 0


def test_a_worker_ends_after_many_requests_only_if_another_can_take_its_place(start: Start, root: Path) -> None:
    gunicorn = start(root=root, GUNICORN_CMD_ARGS="--max-requests=100 --max-requests-jitter=0")
    gunicorn.wait_until_ready()
    before = append(root, "import nothing_here")
    with flood(gunicorn.port, cycle([request("GET", "/livez", "")]), connections=4) as calls:
        until(lambda: failed_loads(gunicorn) >= 2)
        assert gunicorn.log.read_text().count("Worker stops after") == 1
        before()
        until(lambda: gunicorn.log.read_text().count("Worker stops after") >= 3)
    assert {call.status for call in calls} == {200}


BROKEN = {
    "the addresses": "petstore_site/urls.py",
    "the settings": "petstore_site/settings.py",
    "the worker": "server/worker.py",
    "the configuration of gunicorn": "deploy/gunicorn.conf.py",
}


@pytest.mark.parametrize("file", BROKEN.values(), ids=BROKEN.keys())
def test_a_reload_of_what_cannot_be_loaded_changes_nothing(start: Start, root: Path, file: str) -> None:
    metrics_port = free_port()
    gunicorn = start(root=root, METRICS_PORT=str(metrics_port))
    gunicorn.wait_until_ready()
    before = append(root, "raise RuntimeError('a mistake')", file)
    gunicorn.process.send_signal(signal.SIGHUP)
    until(lambda: gunicorn.logged("Not reloaded: what is on disk cannot be loaded."))
    assert "RuntimeError: a mistake" in gunicorn.log.read_text()
    assert {get(gunicorn.port, "/livez")[0] for _ in range(20)} == {200}
    assert last_load_failed(metrics_port)
    assert "Worker exiting" not in gunicorn.log.read_text()
    assert len(booted(gunicorn)) == 2

    before()
    append(root, "def livez(_request):\n    return HttpResponse('new')")
    gunicorn.process.send_signal(signal.SIGHUP)
    until(lambda: get(gunicorn.port, "/livez") == (200, "new"))
    assert not last_load_failed(metrics_port)


WAITS = """
import pathlib, time
if (loaded := pathlib.Path({folder!r}, "loaded")).exists():  # by the trial
    while not pathlib.Path({folder!r}, "go on").exists():
        time.sleep(0.1)
loaded.touch()
"""


def test_the_old_workers_serve_until_a_new_one_has_loaded(start: Start, root: Path, tmp_path: Path) -> None:
    gunicorn = start(root=root)
    gunicorn.wait_until_ready()
    append(root, WAITS.format(folder=str(tmp_path)))
    gunicorn.process.send_signal(signal.SIGHUP)
    while len(booted(gunicorn)) < 4:
        assert get(gunicorn.port, "/livez")[0] == 200
    booted_at = time.monotonic()
    while time.monotonic() < booted_at + 8:
        assert get(gunicorn.port, "/livez")[0] == 200
    (tmp_path / "go on").touch()
    gunicorn.wait_until_ready(workers=4)
    until(lambda: gunicorn.log.read_text().count("Worker exiting") == 2)


def test_a_worker_that_ends_is_not_hurried(start: Start) -> None:
    """The master sends SIGTERM again and again; what the worker has not saved yet would be lost."""
    gunicorn = start(WEB_CONCURRENCY="1")
    gunicorn.wait_until_ready(workers=1)
    [pid] = booted(gunicorn)
    assert get(gunicorn.port, "/livez")[0] == 200
    with suppress(ProcessLookupError):
        while len(booted(gunicorn)) == 1:
            os.kill(pid, signal.SIGTERM)
    assert gunicorn.logged(f"Worker exiting (pid: {pid})")


def test_a_stop_waits_for_no_worker_that_loads(start: Start, root: Path, tmp_path: Path) -> None:
    gunicorn = start(root=root)
    gunicorn.wait_until_ready()
    append(root, WAITS.format(folder=str(tmp_path)))
    gunicorn.process.send_signal(signal.SIGHUP)
    until(lambda: len(booted(gunicorn)) == 4)
    assert get(gunicorn.port, "/livez")[0] == 200
    assert gunicorn.stop() == 0
    assert gunicorn.log.read_text().count("Worker exiting") == 2


def test_a_load_that_hangs_is_no_reload(start: Start, root: Path) -> None:
    append(root, "TRY_SECONDS = 2", "server/reloading.py")
    gunicorn = start(root=root)
    gunicorn.wait_until_ready()
    append(root, "import time\ntime.sleep(3600)")
    gunicorn.process.send_signal(signal.SIGHUP)
    until(lambda: gunicorn.logged("Not reloaded"))
    assert get(gunicorn.port, "/livez")[0] == 200
    assert len(booted(gunicorn)) == 2


def release(root: Path, folder: Path) -> Path:
    """Copy the code into a folder of its own, with packages of its own, one of which names the folder."""
    shutil.copytree(root, folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    [packages] = folder.glob(".venv/lib/python3*/site-packages")
    (packages / "ours.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    (packages / "release_name.py").write_text(f"NAME = {folder.name!r}\n")
    append(
        folder,
        f"def livez(_request):\n    from release_name import NAME\n    return HttpResponse('{folder.name} ' + NAME)",
    )
    return folder


def test_a_reload_follows_the_link_to_a_release_and_nothing_before_it(tmp_path: Path, root: Path) -> None:
    """What runs never sees a part of another release, neither code nor packages."""
    one, two = release(root, tmp_path / "one"), release(root, tmp_path / "two")
    link = tmp_path / "petstore"
    link.symlink_to(one)
    gunicorn = Gunicorn(tmp_path, link, python=f"{link}/.venv/bin/python", WEB_CONCURRENCY="1")
    try:
        gunicorn.wait_until_ready(workers=1)
        link.unlink()
        link.symlink_to(two)
        assert get(gunicorn.port, "/livez") == (200, "one one")
        os.kill(booted(gunicorn)[-1], signal.SIGKILL)
        gunicorn.wait_until_ready(workers=2)
        assert get(gunicorn.port, "/livez") == (200, "one one")
        gunicorn.process.send_signal(signal.SIGHUP)
        until(lambda: get(gunicorn.port, "/livez") == (200, "two two"))
        two.rename(tmp_path / "gone")  # at once: what runs may be writing what it compiled
        gunicorn.process.send_signal(signal.SIGHUP)
        until(lambda: gunicorn.logged("Not reloaded"))
        link.unlink()
        link.symlink_to(one)  # back
        gunicorn.process.send_signal(signal.SIGHUP)
        until(lambda: get(gunicorn.port, "/livez") == (200, "one one"))
    finally:
        assert gunicorn.stop() == 0


@pytest.mark.parametrize("seconds", [0, 0.3, 0.6, 0.9, 1.3, 1.8, 2.8])
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
