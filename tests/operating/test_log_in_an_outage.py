"""The log while PostgreSQL is stopped: each request has its line, and what repeats has one line a second."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

from tests.server import Gunicorn, manage, running_server, until
from tests.with_postgresql import Server

SECONDS = 4


def call(service: Gunicorn, key: str, until_: float) -> int:
    sent = 0
    while time.monotonic() < until_:
        answers = [service.get("/v1/pets", key), service.get("/v1/categories", key)]
        answers.append(service.post("/v1/pets", key, {"name": "Rex", "categoryId": 1}))
        answers.append(service.send("GET", "/readyz"))
        assert {answer.status for answer in answers} == {503}
        sent += len(answers)
    return sent


def test_each_request_has_its_line_and_what_repeats_one_a_second(postgresql: Server) -> None:
    manage({"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url}, "migrate", "--verbosity=0")
    with running_server(database=postgresql.url, workers=1) as service:
        service.manage("load_demo_data")
        key = service.issue_key()
        assert service.get("/v1/pets", key).status == 200
        assert service.get("/v1/categories", key).status == 200
        postgresql.stop()
        begun = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(call, service, key, begun + SECONDS) for _ in range(4)]
            sent = sum(each.result() for each in calls)
        seconds = time.monotonic() - begun
        until(lambda: sum(int(line.get("status", 0)) == 503 for line in service.lines()) == sent)
        until(lambda: counted(errors_of(service)) >= 2 * sent)
        errors = errors_of(service)
        postgresql.start()
    kinds = {line["message"] for line in errors}
    assert counted(errors) == 2 * sent, "Django has one for each too"
    assert len(errors) <= len(kinds) * (seconds + 2) < sent / 5


def errors_of(service: Gunicorn) -> list[dict[str, str]]:
    return [line for line in service.lines() if line["level"] in {"WARNING", "ERROR"}]


def counted(errors: list[dict[str, str]]) -> int:
    return sum(int(line.get("repeated", 1)) for line in errors)
