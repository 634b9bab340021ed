"""The guide's samples for safe retries, against a server that misbehaves as the guide says that one can."""

import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.clients.scripted import Response, Script, scripted_server
from tests.test_docs import API, LANGUAGES, RUNNERS, javascript_in, need

Run = Callable[[str], subprocess.CompletedProcess[str]]

PET = {"id": 361, "name": "Maple", "categoryId": 15, "status": "available"}
CREATED: Response = (201, PET, {})
SAMPLES = dict(re.findall(r"^```(sh|python|ts) run Add with retries\n(.*?)^```$", API, re.MULTILINE | re.DOTALL))


def error(status: int, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"code": "a_code", "message": "As it is.", "status": status}, named


@pytest.fixture(params=LANGUAGES)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a sample in a language with its address replaced."""
    language: str = request.param
    need("curl" if language == "sh" else RUNNERS[language][0])

    def run(url: str) -> subprocess.CompletedProcess[str]:
        sample = SAMPLES[language]
        program = (compiled(sample) if language == "ts" else sample).replace("https://petstore.example/v1", url)
        environment = {"PATH": os.environ["PATH"], "PETSTORE_API_KEY": "k"}
        command = [*(RUNNERS | {"ts": ["node", "--input-type=module", "--eval"]})[language], program]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180, check=False
        )

    return run


@cache
def compiled(text: str) -> str:
    """Return it as JavaScript; `test_docs.py` checks its types."""
    with TemporaryDirectory() as name:
        return (javascript_in(Path(name), {"sample": text}) / "sample.js").read_text()


def sent(script: Script) -> int:
    """Return how many requests came; all had the same key."""
    assert len({request.idempotency_key for request in script.requests}) == 1
    assert script.requests[0].idempotency_key
    return len(script.requests)


def test_the_animal_is_added_after_all_that_can_be_waited_for(sample: Run) -> None:
    troubles: list[Response] = [
        "hang up",
        error(409, Retry_After="0"),
        error(429, Retry_After="2"),
        error(500),
        CREATED,
    ]
    with scripted_server(*troubles) as script:
        done = sample(script.url)
    assert done.returncode == 0, done.stderr
    assert "361" in done.stdout
    assert sent(script) == 5
    assert script.requests[3].at - script.requests[2].at >= 2


@pytest.mark.parametrize("first", [error(503, Retry_After="0"), "break off"], ids=["503", "break off"])
def test_it_is_sent_again(sample: Run, first: Response) -> None:
    with scripted_server(first, CREATED) as script:
        done = sample(script.url)
    assert done.returncode == 0, done.stderr
    assert "361" in done.stdout
    assert sent(script) == 2


@pytest.mark.parametrize(
    "responses",
    [
        [error(400)],
        [error(422)],
        [error(500), error(500)],
        [*[error(503, Retry_After="0")] * 4, error(503, Retry_After="60")],  # and does not wait after the last
    ],
    ids=["400", "422", "500", "five times 503"],
)
def test_it_gives_up_when_another_attempt_is_of_no_use(sample: Run, responses: list[Response]) -> None:
    with scripted_server(*responses) as script:
        done = sample(script.url)
    assert done.returncode != 0
    assert "361" not in done.stdout
    assert sent(script) == len(responses)
