"""A real gunicorn with the configuration that ships: start, reload, metrics, stop."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle
from pathlib import Path

import pytest

from tests.flood import flood, request
from tests.server import ROOT, SECONDS, Gunicorn, free_port, send, until


def get(port: int, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Return status and body of a GET on a new connection, so that any worker may serve it."""
    answer = send(port, "GET", path, headers=headers)
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


def test_no_access_log_is_put_together() -> None:
    """It would go nowhere, and took a fifth of a read: the service logs requests itself."""
    assert ask_gunicorn("print(cfg.logger_class(cfg).access_log_enabled)") == "False\n"


def test_threads_that_compute_hand_over_often() -> None:
    """Lists that came while four pages were made waited fourteen times as long with Python's default."""
    assert ask_gunicorn("cfg.post_fork(None, None); print(sys.getswitchinterval())") == "0.0005\n"


def test_wrong_settings_end_the_start_with_their_list(start: Start) -> None:
    gunicorn = start(PETSTORE_ENVIRONMENT="nonsense", THREADS="0")
    assert gunicorn.process.wait(SECONDS) == 1
    assert gunicorn.log.read_text().splitlines() == [
        "The service cannot start. Fix these settings:",
        "  - PETSTORE_ENVIRONMENT: must be one of production, staging, development.",
        "  - THREADS: must be a whole number from 1 to 64.",
    ]


def test_wrong_addresses_end_the_start_with_their_list(start: Start) -> None:
    gunicorn = start(PORT="99999", WEB_CONCURRENCY="0")
    assert gunicorn.process.wait(SECONDS) == 1
    assert gunicorn.log.read_text().splitlines() == [
        "The service cannot start. Fix these settings:",
        "  - PORT: must be a whole number from 1 to 65535.",
        "  - WEB_CONCURRENCY: must be a whole number from 1 to 256.",
    ]


def test_metrics_on_the_public_port_end_the_start(start: Start) -> None:
    gunicorn = start(PORT="8000", METRICS_PORT="8000")
    assert gunicorn.process.wait(SECONDS) == 1
    assert gunicorn.log.read_text().splitlines()[1:] == [
        "  - METRICS_PORT: must differ from PORT, because metrics are not public."
    ]


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


def test_a_spare_worker_replaces_one_that_is_killed(start: Start) -> None:
    gunicorn = start(WEB_CONCURRENCY="1", SPARE_WORKER="true")
    gunicorn.wait_until_ready(workers=2)
    serving = gunicorn.workers()[0]
    assert gunicorn.log.read_text().count("ASGI server listening") == 1, "the spare accepts nothing"
    os.kill(serving, signal.SIGKILL)
    assert get(gunicorn.port, "/livez")[0] == 200
    assert len(gunicorn.workers()) <= 3
    gunicorn.wait_until_ready(workers=3)  # there is a spare again
    gunicorn.process.send_signal(signal.SIGHUP)
    gunicorn.wait_until_ready(workers=5)
    until(lambda: gunicorn.log.read_text().count("Worker exiting") == 2)  # the old spare too
    assert get(gunicorn.port, "/livez")[0] == 200


def test_a_spare_worker_serves_while_the_one_before_still_ends(start: Start) -> None:
    gunicorn = start(WEB_CONCURRENCY="1", SPARE_WORKER="true")
    gunicorn.wait_until_ready(workers=2)
    with socket.create_connection(("127.0.0.1", gunicorn.port)):
        assert get(gunicorn.port, "/livez")[0] == 200
        os.kill(gunicorn.workers()[0], signal.SIGTERM)
        until(lambda: "Worker shutting down" in gunicorn.log.read_text())
        assert get(gunicorn.port, "/livez")[0] == 200
        assert "Worker exiting" not in gunicorn.log.read_text()


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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the code, to be changed."""
    root = tmp_path / "code"
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests", "lab", "deploy"}
    for name in (*packages, "deploy", "templates"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", root)
    return root


def append(root: Path, code: str) -> None:
    """Add code to a module that every worker loads."""
    with (root / "petstore_site" / "public" / "health.py").open("a") as file:
        file.write(f"\n\n{code}\n")


def booted(gunicorn: Gunicorn) -> list[int]:
    """Return the processes of the workers so far; what a failed one prints is no JSON."""
    return [int(pid) for pid in re.findall(r"Booting worker with pid: ([0-9]+)", gunicorn.log.read_text())]


def test_workers_that_cannot_load_end_the_service_with_their_reason(start: Start, root: Path) -> None:
    append(root, "raise RuntimeError('a mistake')")
    gunicorn = start(root=root)
    assert gunicorn.process.wait(SECONDS) == 1
    assert "Reason: 3 workers in a row could not load. RuntimeError: a mistake" in gunicorn.log.read_text()
    assert 3 <= len(booted(gunicorn)) <= 4


def test_a_worker_that_loads_begins_the_count_again(start: Start, root: Path, tmp_path: Path) -> None:
    """Each time two do not load; a service that runs is not ended by them."""
    left = tmp_path / "left"
    left.write_text("")
    append(
        root,
        f"""from pathlib import Path
left = Path({str(left)!r})
if left.read_text():
    left.write_text(left.read_text()[1:])
    raise SystemExit('not now')""",
    )
    gunicorn = start(root=root, WEB_CONCURRENCY="1")
    gunicorn.wait_until_ready(workers=1)
    for times in (1, 2, 3):
        left.write_text("xx")
        os.kill(booted(gunicorn)[-1], signal.SIGKILL)
        gunicorn.wait_until_ready(workers=1 + times)
    assert gunicorn.log.read_text().count("not now") == 6
    assert get(gunicorn.port, "/livez")[0] == 200


def test_reload_starts_new_code_and_rejects_code_that_would_not_start(start: Start, root: Path) -> None:
    gunicorn = start(root=root)
    gunicorn.wait_until_ready()

    health = root / "petstore_site" / "public" / "health.py"
    with health.open("a") as file:
        file.write("\n\ndef livez(_request):\n    return HttpResponse('new')\n")
    gunicorn.process.send_signal(signal.SIGHUP)
    answers = set()
    while gunicorn.log.read_text().count("Worker ready") < 4:
        answers.add(get(gunicorn.port, "/livez"))
    assert answers <= {(200, '{"status": "alive"}'), (200, "new")}
    until(lambda: get(gunicorn.port, "/livez") == (200, "new"))  # the old workers stop when the new ones are ready
    until(lambda: gunicorn.log.read_text().count("Worker exiting") == 2)

    with health.open("a") as file:
        file.write("\n\nraise RuntimeError('a mistake')\n")
    gunicorn.process.send_signal(signal.SIGHUP)
    until(lambda: gunicorn.logged("Not reloaded"))
    assert [line["message"] for line in gunicorn.lines()][-2:] == [
        "RuntimeError: a mistake",
        "Not reloaded: manage.py check failed.",
    ]
    assert get(gunicorn.port, "/livez") == (200, "new")
    assert len(gunicorn.workers()) == 4


def test_long_addresses_and_many_headers_are_rejected(start: Start) -> None:
    gunicorn = start()
    gunicorn.wait_until_ready()
    assert get(gunicorn.port, f"/livez?{'x' * 4100}")[0] == 400
    assert get(gunicorn.port, "/livez", {f"X-{number}": "x" for number in range(48)})[0] == 200
    assert get(gunicorn.port, "/livez", {f"X-{number}": "x" for number in range(49)})[0] == 400
