"""The clients as `make clients` packs them, against a real service and a server that misbehaves."""

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
import yaml

from clients.build import build_python, build_typescript
from clients.tools import DESCRIPTION, HERE, node_tools, python_tools, run
from tests.clients.conftest import or_skip, package, without_types
from tests.clients.scripted import Response, Script, scripted_server
from tests.server import Gunicorn

CODES: list[str] = yaml.safe_load(DESCRIPTION.read_text())["components"]["schemas"]["Error"]["properties"]["code"][
    "x-extensible-enum"
]
MAPLE = {"name": "Maple", "categoryId": 1}
ADD: list[Any] = ["add_pet", MAPLE, None]
LIST: list[Any] = ["pets", None, None, 100]
PET = {"id": 7, "name": "Maple", "categoryId": 1, "status": "available"}
OK: Response = (200, [PET], {})
CREATED: Response = (201, PET, {})


def problem(status: int, code: str, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"code": code, "message": "As it is.", "status": status}, {"X-Request-ID": "r-1"} | named


class Client(ABC):
    """A packed client, and the programs that use it: `tests/clients/caller` and the snippets of its README."""

    language: str
    suffix: str
    timed_out: str
    hung_up: str
    no_wait: str
    caller = "caller"
    environment: ClassVar[dict[str, str]] = {}

    def __init__(self, folder: Path, _factory: pytest.TempPathFactory) -> None:
        self.folder = folder
        for program in {f"caller{self.suffix}", f"{self.caller}{self.suffix}"}:
            self.write(program, Path(__file__).with_name(program).read_text())
        readme = (HERE / self.language / "README.md").read_text(encoding="utf-8")
        self.snippets = re.findall(r"^```\w+ run\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
        for number, snippet in enumerate(self.snippets):
            self.write(f"readme_{number}{self.suffix}", snippet)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    @abstractmethod
    def check(self) -> None:
        """Check the types of the programs, strictly."""

    @abstractmethod
    def command(self, program: str) -> list[str]:
        """Return the command that runs a program in the folder."""

    def start(self, program: str, **variables: str) -> str:
        return run(*self.command(program), cwd=self.folder, environment=self.environment | variables)

    @cached_property
    def process(self) -> subprocess.Popen[str]:
        """A caller that waits for the next call: to start one takes longer than most calls."""
        return self.started({"PETSTORE_URL": "", "PETSTORE_API_KEY": ""})

    def started(self, variables: dict[str, str]) -> subprocess.Popen[str]:
        environment = os.environ | self.environment | variables
        command, pipe = self.command(self.caller), subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=environment, stdin=pipe, stdout=pipe, text=True)

    @abstractmethod
    def kind(self, _code: str) -> str:
        """Return the name of the exception for an error code."""

    @abstractmethod
    def codes(self) -> list[str]:
        """Return what the client lists for the codes of the description."""

    def call(
        self,
        url: str | None,
        do: str,
        *values: Any,
        key: str | None = "k",
        own: bool = False,
        noted: bool = False,
        variables: dict[str, str] | None = None,
        changed: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """Let the client do something and return what its caller saw.

        `own`: it sends through a client of the caller's. `noted`: return the responses that it reported, what it sent, and
        what it logged. `changed`: options for this call only.
        """
        given = {"url": url, "key": key, "do": do, "with": values, "options": {"timeout": 30} | options}
        line = json.dumps(given | {"own": own, "noted": noted, "changed": changed or {}}) + "\n"
        if variables:
            return json.loads(ended(self.started(variables), line))
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def ended(process: subprocess.Popen[str], line: str = "") -> str:
    """Give a caller its last line and return what it printed; it must succeed."""
    printed, _ = process.communicate(line, timeout=180)
    assert process.returncode == 0
    return printed


class PythonClient(Client):
    language, suffix = "python", ".py"
    # Nothing here uses TLS, and to read all certificates for each client takes longer than a call.
    environment: ClassVar[dict[str, str]] = {"PYTHONPATH": "site", "SSL_CERT_FILE": "", "SSL_CERT_DIR": "."}
    timed_out, hung_up, no_wait = "ReadTimeout", "RemoteProtocolError", "0.0 s"

    def __init__(self, folder: Path, factory: pytest.TempPathFactory) -> None:
        with or_skip():
            self.tools = python_tools()
        zipfile.ZipFile(package(factory, build_python, self.tools)).extractall(folder / "site")
        super().__init__(folder, factory)

    def check(self) -> None:
        options = ("--strict", "--follow-imports=silent", f"--cache-dir={self.tools.parent}/mypy")
        python = f"--python-executable={self.tools}/python"
        programs = [path.name for path in self.folder.glob("*.py")]
        command = (sys.executable, "-m", "mypy", *options, python, *programs)
        run(*command, cwd=self.folder, environment={"MYPYPATH": "site"})

    def command(self, program: str) -> list[str]:
        return [str(self.tools / "python"), "-W", "error", f"{program}.py"]

    def kind(self, _code: str) -> str:
        if _code not in {*CODES, "no_response", "unexpected_response"}:
            return "PetStoreError"
        return _code.title().replace("_", "").removesuffix("Error") + "Error"

    def codes(self) -> list[str]:
        return sorted(self.kind(code) for code in [*CODES, "no_response", "unexpected_response"])


class AsyncPythonClient(PythonClient):
    caller = "caller_async"


class TypeScriptClient(Client):
    language, suffix = "typescript", ".ts"
    timed_out, hung_up, no_wait = "TimeoutError", "TypeError", "0 ms"

    def __init__(self, folder: Path, factory: pytest.TempPathFactory) -> None:
        with or_skip():
            modules = node_tools()
        tarball = package(factory, build_typescript, modules)
        (folder / "node_modules").mkdir()
        for module in modules.iterdir():
            (folder / "node_modules" / module.name).symlink_to(module)
        run("tar", "-xzf", tarball, cwd=folder)
        (folder / "package").rename(folder / "node_modules" / "petstore-client")
        super().__init__(folder, factory)
        self.write("package.json", '{"type": "module"}')
        options = json.loads(Path(__file__).with_name("tsconfig.json").read_text())
        self.write("tsconfig.json", json.dumps(options | {"files": sorted(path.name for path in folder.glob("*.ts"))}))
        without_types(folder)

    def check(self) -> None:
        run("node_modules/.bin/tsc", "--strict", cwd=self.folder)

    def command(self, program: str) -> list[str]:
        return ["node", f"{program}.js"]

    def kind(self, _code: str) -> str:
        return "PetStoreError"

    def codes(self) -> list[str]:
        return CODES


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[type[Client]], Client]]:
    """Make each client once, though pytest asks for one again after tests of some of them only."""
    made: dict[type[Client], Client] = {}

    def of(kind: type[Client]) -> Client:
        if kind not in made:
            made[kind] = kind(tmp_path_factory.mktemp("packed"), tmp_path_factory)
        return made[kind]

    yield of
    assert {ended(client.process) for client in made.values()} <= {""}


@pytest.fixture(
    scope="module", params=[PythonClient, AsyncPythonClient, TypeScriptClient], ids=lambda kind: kind.__name__
)
def client(request: pytest.FixtureRequest, packed: Callable[[type[Client]], Client]) -> Client:
    return packed(request.param)


@pytest.fixture(scope="module")
def key(server: Gunicorn) -> str:
    return server.issue_key("Packed client")


def test_types_are_right_to_a_strict_checker(client: Client) -> None:
    client.check()


@pytest.mark.parametrize("client", [PythonClient, TypeScriptClient], indirect=True)
def test_the_snippets_of_the_readme_run(client: Client, server: Gunicorn, key: str) -> None:
    known = server.shell("from pets.models import Pet; print(Pet.objects.count())")
    printed = [
        client.start(f"readme_{number}", PETSTORE_URL=f"{server.url}/v1", PETSTORE_API_KEY=key)
        for number in range(len(client.snippets))
    ]
    assert len(printed) == {"python": 13, "typescript": 13}[client.language]
    assert all(printed)
    assert printed[1] == f"{known.strip()} animals\n"
    copied = next(text for text in printed if "gone" in text)
    assert re.fullmatch(r"\d+ animals, \d+ of them new or changed, 0 gone\n", copied)


@pytest.mark.parametrize(("status", "category"), [(None, None), ("pending", None), (None, 1), ("available", 1)])
def test_every_animal_is_seen_once_in_order(
    client: Client, server: Gunicorn, key: str, status: str | None, category: int | None
) -> None:
    seen = client.call(f"{server.url}/v1", "pets", status, category, 7, key=key)["result"]
    chosen = {"status": status, "categoryId": category}
    filters = {name: value for name, value in chosen.items() if value is not None}
    assert seen[:100] == server.get(f"/v1/pets?{urlencode({'limit': 100} | filters)}", key).json()
    ids = [pet["id"] for pet in seen]
    assert ids == sorted(set(ids), reverse=True)
    rows = {name.replace("categoryId", "category_id"): value for name, value in filters.items()}
    count = f"from pets.models import Pet; print(Pet.objects.filter(**{rows!r}).count())"
    assert len(seen) == int(server.shell(count)) > 7


def test_categories(client: Client, server: Gunicorn, key: str) -> None:
    known = server.get("/v1/categories?limit=100", key).json()
    assert client.call(f"{server.url}/v1", "categories", 5, key=key) == {"result": known}
    assert client.call(f"{server.url}/v1", "category", known[0]["id"], key=key) == {"result": known[0]}


def test_the_feed_of_changes_goes_on_where_it_stopped(client: Client, server: Gunicorn, key: str) -> None:
    url = f"{server.url}/v1"
    [[nothing, begin]] = client.call(url, "changes", None, 1, key=key)["result"]
    assert nothing == []
    added = [client.call(url, "add_pet", MAPLE, None, key=key)["result"] for _ in range(3)]
    told = [{"petId": pet["id"], "change": "saved", "pet": pet} for pet in added]
    pages = client.call(url, "changes", begin, 3, key=key)["result"]
    assert [changes for changes, _ in pages] == [told[:2], told[2:], []]
    assert client.call(url, "changes", pages[0][1], 1, key=key)["result"] == pages[1:2]


def test_an_empty_feed_is_asked_again_after_a_pause(client: Client) -> None:
    def link(cursor: str) -> dict[str, str]:
        return {"Link": f'<http://elsewhere/v1/changes?limit=2&cursor={cursor}>; rel="next"', "ETag": f'"{cursor}"'}

    change = {"petId": 7, "change": "saved", "pet": PET}
    pages: list[Response] = [(200, [], link("a")), (304, "", link("a")), (304, "", {})]
    pages += [(200, [change], link(cursor)) for cursor in "bcd"]
    with scripted_server(*pages, (200, [], link("d"))) as script:
        seen = client.call(script.url, "changes", "a", 5)
    assert seen == {"result": [[[], "a"], *[[[change], cursor] for cursor in "bcd"], [[], "d"]]}
    lines = [tuple(sorted(line.partition("?")[2].split("&"))) for line in requested(script)]
    assert lines == [(f"cursor={cursor}", "limit=2") for cursor in "aaaabcd"]
    assert [request.if_none_match for request in script.requests] == [None, '"a"', '"a"', '"a"', None, None, None]
    times = [request.at for request in script.requests]
    waits = [after - before for before, after in pairwise(times)]
    assert sum(waits[:3]) > 2.5, "a second each"
    assert min(waits[3:]) < 0.9, "at once; a busy machine delays only some"


FAILURES: list[Response] = [
    "hang up",
    problem(503, "unavailable", Retry_After="0"),
    (502, "<html>", {}),
    problem(500, "internal_error"),
    problem(429, "rate_limited", Retry_After="0"),
]


def test_an_outage_of_an_hour_is_waited_out(client: Client) -> None:
    """After 120 pauses of 30 s, which are shorter here; the feed goes on where it was."""
    link = {"Link": '</v1/changes?cursor=b>; rel="next"'}
    change = {"petId": 7, "change": "saved", "pet": PET}
    with scripted_server(*FAILURES * 24, (200, [change], link), *FAILURES, (200, [change], link)) as script:
        seen = client.call(script.url, "changes", "a", 2, 0.01, max_retries=0)
    assert seen == {"result": [[[change], "b"]] * 2}
    assert {line.partition("cursor=")[2][0] for line in requested(script)[:121]} == {"a"}


def test_a_feed_that_cannot_begin_is_an_error(client: Client) -> None:
    """The address may be wrong."""
    with scripted_server((502, "<html>", {})) as script:
        seen = client.call(script.url, "changes", None, 1, max_retries=0)
    assert seen["error"][1:3] == ["unexpected_response", 502]


def test_a_feed_waits_as_long_as_it_is_asked(client: Client) -> None:
    page: Response = (200, [], {"Link": '</v1/changes?cursor=b>; rel="next"'})
    with scripted_server(problem(503, "unavailable", Retry_After="2"), page) as script:
        assert client.call(script.url, "changes", "a", 1, 0.01, max_wait=1) == {"result": [[[], "b"]]}
    assert script.requests[1].at - script.requests[0].at >= 2


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (problem(429, "rate_limited", Retry_After="3"), [True, 3, "r-1", 429]),
        (problem(404, "category_not_found"), [False, None, "r-1", 404]),
        ((503, "<html>", {"Retry-After": "Sat, 05 Dec 2026 12:00:00 GMT"}), [True, None, None, 503]),
        ((503, "<html>", {"Retry-After": "9" * 5000}), [True, None, None, 503]),
        ((302, "", {"Location": "/v1/pets", "X-Request-ID": "r-2"}), [False, None, "r-2", 302]),
        ("hang up", [True, None, None, None]),
    ],
    ids=str,
)
def test_an_error_has_its_response(client: Client, response: Response, expected: list[Any]) -> None:
    with scripted_server(response) as script:
        assert client.call(script.url, "error", max_retries=0) == {"result": expected}


def test_what_is_always_sent_needs_no_assertion(client: Client) -> None:
    """The types of the callers are checked strictly."""
    with scripted_server(OK) as script:
        assert client.call(script.url, "statuses") == {"result": ["available"]}


def test_a_whole_response_has_a_deadline(client: Client) -> None:
    """However many parts it comes in. In TypeScript, the timeout is for the whole response."""
    limit: dict[str, Any] = {"timeout": 1} if client.language == "typescript" else {"deadline": 1}
    begun = time.monotonic()
    with scripted_server("drip") as script:
        seen = client.call(script.url, *LIST, max_retries=0, **limit)
    message = f"No response came ({client.timed_out})."
    assert seen == {"error": [client.kind("no_response"), "no_response", 0, message, None]}
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    "link",
    [
        "<u>;rel=next",
        '<h>; title="a, <b>; rel=prev"; REL=\'x\'; rel=next, <v>; rel = "last next"',
        '<h>; rel=help,<u>; hreflang=en; rel="next", <p>; rel=prev',
        '<h>; rel="help"; title="; rel=next", <u>; rel="alternate NEXT"',
    ],
)
def test_a_next_link_is_found_in_each_form(client: Client, link: str) -> None:
    """RFC 8288: parameters in any order, with quotes or without."""
    link = re.sub("<([uv])>", r"</v1/pets?cursor=\1>", link)
    with scripted_server((200, [PET], {"Link": link}), OK) as script:
        assert client.call(script.url, *LIST) == {"result": [PET, PET]}


def test_the_same_key_adds_one_animal(client: Client, server: Gunicorn, key: str) -> None:
    add = (f"{server.url}/v1", "add_pet", MAPLE)
    once = client.call(*add, f"once-{type(client).__name__}", key=key)["result"]
    assert client.call(*add, f"once-{type(client).__name__}", key=key)["result"] == once
    assert client.call(*add, None, key=key)["result"]["id"] > once["id"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (["add_pet", MAPLE | {"name": ""}, None], ["validation_failed", 400, "name must have 1 to 255 characters."]),
        (["pets", None, None, 0], ["invalid_parameter", 400, "limit must be a whole number from 1 to 100."]),
        (
            ["pets", None, 0, 100],
            ["invalid_parameter", 400, "categoryId must be a whole number from 1 to 9223372036854775807."],
        ),
        (["category", 999], ["category_not_found", 404, "No category has this ID."]),
        (["pet", 999_999], ["pet_not_found", 404, "No animal has this ID."]),
    ],
)
def test_an_error_is_an_exception_with_its_code(
    client: Client, server: Gunicorn, key: str, call: list[Any], expected: list[Any]
) -> None:
    *error, request_id = client.call(f"{server.url}/v1", *call, key=key)["error"]
    assert error == [client.kind(expected[0]), *expected]
    assert request_id


def test_every_code_of_the_description_is_known(client: Client) -> None:
    with scripted_server() as script:
        assert client.call(script.url, "codes") == {"result": client.codes()}


def test_white_space_around_the_address_and_the_key_is_ignored(client: Client) -> None:
    with scripted_server(OK) as script:
        assert client.call(f" {script.url}\r\n", *LIST, key="\t pets_test_k \r\n") == {"result": [PET]}
    assert script.requests[0].authorization == "Bearer pets_test_k"


MISSING_KEY = "key is missing. Pass it, or set PETSTORE_API_KEY."
NO_KEY = "key has characters that an API key cannot have."


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        *[(key, MISSING_KEY) for key in (None, "", " \n")],
        *[(f"pets_test_{key}", NO_KEY) for key in ("a b", "a\nb", "a\r\nX-More: b", "a…", "ä", '"a"')],
    ],
)
def test_what_cannot_be_a_key_is_neither_sent_nor_repeated(client: Client, key: str | None, wrong: str) -> None:
    with scripted_server() as script:
        assert client.call(script.url, *LIST, key=key) == {"wrong": wrong}


def test_the_address_and_the_key_can_be_in_the_environment(client: Client) -> None:
    with scripted_server(OK, OK) as script:
        given = {"PETSTORE_URL": script.url, "PETSTORE_API_KEY": "pets_test_environment"}
        assert client.call(None, *LIST, key=None, variables=given) == {"result": [PET]}
        given = {"PETSTORE_URL": "http://elsewhere.invalid/v1", "PETSTORE_API_KEY": "pets_test_environment"}
        assert client.call(script.url, *LIST, key="pets_test_k", variables=given) == {"result": [PET]}
    keys = [request.authorization for request in script.requests]
    assert keys == ["Bearer pets_test_environment", "Bearer pets_test_k"]


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "h/v1",
        "ftp://h/v1",
        "https:///v1",
        "https://h:a b/v1",
        "https://h:x/v1",
        "https://u:p@h/v1",
        "https://h/v1?a=b",
    ],
)
def test_an_address_that_cannot_be_one(client: Client, url: str | None) -> None:
    name = {"python": "base_url", "typescript": "baseUrl"}[client.language]
    form = "must be an address such as https://petstore.example/v1. Pass it, or set PETSTORE_URL."
    assert client.call(url, *LIST) == {"wrong": f"{name} {form}"}


def test_the_service_sees_which_client_calls(client: Client) -> None:
    with scripted_server(OK, OK) as script:
        client.call(script.url, *LIST)
        client.call(script.url, *LIST, headers={"user-agent": "shop/1.0"})
    program = {"python": r"\d+\.\S+ httpx/[\d.]+", "typescript": r"\d+\.\S+ node/[\d.]+"}[client.language]
    ours, own = (request.user_agent or "" for request in script.requests)
    assert re.fullmatch(f"petstore-client-{client.language}/{program}", ours)
    assert own == "shop/1.0"


def test_each_response_is_reported_with_its_request_id_and_limit(client: Client) -> None:
    limit = {"RateLimit-Policy": '"default";q=600;w=60', "RateLimit": '"default";r=598;t=12', "X-Request-ID": "r-2"}
    down = problem(503, "unavailable", Retry_After="0")
    with scripted_server(down, (200, [PET], limit)) as script:
        seen = client.call(script.url, *LIST, noted=True)
    assert seen == {
        "responses": [[503, "r-1", None, down[1]], [200, "r-2", [600, 60, 598, 12], [PET]]],
        "sent": [],
        "log": [
            "DEBUG GET /v1/pets?limit=100: 503, request ID r-1",
            f"INFO GET /v1/pets?limit=100: 503, next attempt in {client.no_wait}",
            "DEBUG GET /v1/pets?limit=100: 200, request ID r-2",
        ],
    }


def test_what_goes_wrong_is_logged(client: Client) -> None:
    """A lost response, and an operation that is deprecated. Of the key nothing is."""
    ends = {"Deprecation": "@1798761600", "Sunset": "Fri, 30 Jun 2028 23:59:59 GMT", "X-Request-ID": "r-2"}
    with scripted_server("hang up", (200, PET, ends)) as script:
        log = client.call(script.url, "pet", 7, noted=True)["log"]
    log[0] = re.sub(r"in [\d.]+ m?s", "in a moment", log[0])
    assert log == [
        f"INFO GET /v1/pets/7: {client.hung_up}, next attempt in a moment",
        "DEBUG GET /v1/pets/7: 200, request ID r-2",
        "WARNING GET /v1/pets/7 is deprecated. Its last day: Fri, 30 Jun 2028 23:59:59 GMT.",
    ]


def test_options_for_one_call(client: Client) -> None:
    """What is left out is that of the first store, and headers are added."""
    one: dict[str, Any] = {"max_retries": 0, "headers": {"Traceparent": "1"}}
    changed = {"max_retries": 1, "headers": {"tracestate": "2"}}
    down = problem(503, "unavailable", Retry_After="1")
    with scripted_server(down, down) as script:
        seen = client.call(script.url, *LIST, **one, changed=changed, noted=True, own=True)
    assert [line[0] for line in seen["responses"]] == [503, 503]
    assert seen["sent"] == ["GET /v1/pets"] * 2
    assert [request.traces for request in script.requests] == [["1", "2"]] * 2
    with scripted_server(down) as script:
        seen = client.call(script.url, *LIST, max_retries=3, changed={"max_wait": 0.5})
    assert seen["error"][:3] == [client.kind("unavailable"), "unavailable", 503]


@pytest.mark.parametrize("name", ["Authorization", "content-type", "IDEMPOTENCY-KEY", "If-None-Match"])
@pytest.mark.parametrize("where", ["options", "changed"])
def test_a_header_that_the_client_sends_itself(client: Client, name: str, where: str) -> None:
    given = {"headers": {name: "pets_test_secret"}}
    with scripted_server() as script:
        seen = client.call(script.url, *LIST, **given if where == "options" else {"changed": given})
    shown = {"idempotency-key": "Idempotency-Key", "if-none-match": "If-None-Match"}.get(name.lower(), name.title())
    assert seen == {"wrong": f"headers cannot have {shown}: the client sends it."}


@pytest.mark.parametrize("client", [PythonClient, AsyncPythonClient], indirect=True)
def test_closing_a_store_with_other_options_leaves_the_connections_open(client: Client) -> None:
    category = {"id": 1, "name": "Cats"}
    with scripted_server((200, category, {}), (200, category, {})) as script:
        assert client.call(script.url, "closed_copy") == {"result": category}


@pytest.mark.parametrize("client", [TypeScriptClient], indirect=True)
def test_a_timeout_is_not_collected_as_garbage(client: Client) -> None:
    with scripted_server("hang") as script:
        seen = client.call(script.url, "collected", max_retries=0, timeout=1)
    assert seen["error"][3] == f"No response came ({client.timed_out})."


@pytest.mark.parametrize("client", [AsyncPythonClient, TypeScriptClient], indirect=True)
@pytest.mark.parametrize("response", ["hang", problem(503, "unavailable", Retry_After="3000000")])
def test_a_call_can_be_stopped(client: Client, response: Response) -> None:
    """However long it would wait: JavaScript's timers end at once if they are to last 2^31 ms."""
    begun = time.monotonic()
    with scripted_server(response) as script:
        assert client.call(script.url, "stopped", timeout=4e6, max_wait=4e6) == {"result": "stopped"}
    assert time.monotonic() - begun < 20


def test_a_timeout_can_be_without_end(client: Client) -> None:
    category = {"id": 1, "name": "Cats"}
    with scripted_server((200, category, {})) as script:
        assert client.call(script.url, "category", 1, timeout=1e99) == {"result": category}


def test_the_callers_own_client_sends_with_our_key_and_is_left_open(client: Client) -> None:
    down = problem(503, "unavailable", Retry_After="0")
    with scripted_server(down, CREATED) as script:
        seen = client.call(script.url, *ADD, own=True, noted=True)
    assert seen["responses"] == [[503, "r-1", None, down[1]], [201, None, None, PET]]
    assert seen["sent"] == ["POST /v1/pets"] * 2
    assert [request.authorization for request in script.requests] == ["Bearer k"] * 2


def test_a_status_can_be_text(client: Client) -> None:
    with scripted_server(CREATED) as script:
        assert client.call(script.url, "add_with_text", "Maple", 1, "pending") == {"result": PET}


def test_values_that_are_newer_than_the_client(client: Client) -> None:
    reserved = PET | {"status": "reserved", "colour": "red"}
    link = '<http://elsewhere/v1/pets?cursor=b>; rel="next"'
    with scripted_server((200, [reserved], {"Link": link}), OK) as script:
        assert client.call(script.url, "pets", "reserved", None, 1) == {"result": [reserved, PET]}
    assert "status=reserved" in requested(script)[0]
    lent = {"petId": 7, "change": "lent", "pet": reserved}
    with scripted_server((200, [lent], {"Link": link})) as script:
        assert client.call(script.url, "changes", "a", 1) == {"result": [[[lent], "b"]]}


def test_the_client_can_be_printed_without_its_key(client: Client) -> None:
    with scripted_server() as script:
        shown = client.call(script.url, "shown", key="pets_test_secret")["result"]
    assert shown
    assert "secret" not in shown


def requested(script: Script) -> list[str]:
    return [request.line for request in script.requests]


@pytest.mark.parametrize(
    "first",
    [
        problem(409, "idempotency_in_progress", Retry_After="0"),
        problem(429, "rate_limited", Retry_After="0"),
        problem(500, "internal_error"),
        problem(503, "unavailable", Retry_After="0"),
        (502, "<html>", {}),
        (503, "<html>", {"Retry-After": "Sat, 05 Dec 2026 12:00:00 GMT"}),
        "hang up",
        "break off",
        "hang",
    ],
    ids=lambda first: first if isinstance(first, str) else str(first[0]),
)
def test_an_addition_is_retried_with_the_same_key(client: Client, first: Response) -> None:
    with scripted_server(first, CREATED) as script:
        assert client.call(script.url, *ADD, timeout=2 if first == "hang" else 30) == {"result": PET}
    assert requested(script) == ["POST /v1/pets"] * 2
    one, two = (request.idempotency_key for request in script.requests)
    assert one == two
    assert one


def test_the_cursor_of_the_next_link_goes_to_the_same_host(client: Client) -> None:
    link = '<https://elsewhere.example/v1/pets?cursor=a%2Bb%3D&limit=1>; rel="next"'
    help_link = '<https://elsewhere.example/docs/?cursor=no>; rel="help"'
    with scripted_server((200, [PET], {"Link": f"{help_link}, {link}"}), OK) as script:
        assert client.call(script.url, "pets", "sold", 5, 1) == {"result": [PET, PET]}
    first, second = (set(line.split("?")[1].split("&")) for line in requested(script))
    assert first == {"limit=1", "status=sold", "categoryId=5"}
    assert second == {"limit=1", "status=sold", "categoryId=5", "cursor=a%2Bb%3D"}


def test_it_waits_as_long_as_it_is_asked(client: Client) -> None:
    with scripted_server(problem(429, "rate_limited", Retry_After="2"), OK) as script:
        assert client.call(script.url, *LIST) == {"result": [PET]}
    assert script.requests[1].at - script.requests[0].at >= 2


def test_a_wait_that_is_too_long_is_an_error_at_once(client: Client) -> None:
    with scripted_server(problem(429, "rate_limited", Retry_After="3")) as script:
        seen = client.call(script.url, *LIST, max_wait=2)
    assert seen == {"error": [client.kind("rate_limited"), "rate_limited", 429, "As it is.", "r-1"]}


@pytest.mark.parametrize(
    ("response", "code", "times"),
    [
        (problem(400, "validation_failed"), "validation_failed", 1),
        (problem(422, "idempotency_key_reused"), "idempotency_key_reused", 1),
        (problem(500, "internal_error"), "internal_error", 2),
        (problem(503, "unavailable", Retry_After="0"), "unavailable", 3),
        (problem(418, "newer_than_the_client"), "newer_than_the_client", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_error_comes_when_more_attempts_are_of_no_use(client: Client, response: Any, code: str, times: int) -> None:
    with scripted_server(*[response] * times) as script:
        seen = client.call(script.url, *ADD, max_retries=2)
    assert seen == {"error": [client.kind(code), code, response[0], "As it is.", "r-1"]}


@pytest.mark.parametrize(
    ("call", "response"),
    [
        *[(ADD, (404, body, {})) for body in ("<html>", "[]", '{"code": 1}')],
        (ADD, (302, "{}", {})),
        (ADD, (200, PET, {})),
        (ADD, (202, "", {})),
        (ADD, (201, "<html>", {"Content-Type": "text/html"})),  # as the sign-in page of a proxy
        (ADD, (201, "{", {"Location": "/v1/pets/7"})),
        (ADD, (201, "[]", {})),
        (ADD, (304, "", {})),
        (LIST, (203, [PET], {})),
        (LIST, (200, "<html>", {"Content-Type": "text/html"})),
        # An empty list would say that all animals are gone.
        *[(LIST, (200, body, {})) for body in ("[", '{"pets": []}', "{}", "null", "[null]")],
        (LIST, (304, "", {})),
        (LIST, (200, [PET], {"Link": '</v1/pets?page=2>; rel="next"'})),  # it has no cursor
    ],
    ids=str,
)
def test_what_only_looks_like_a_response_of_the_api(client: Client, call: list[Any], response: Any) -> None:
    with scripted_server(response) as script:
        seen = client.call(script.url, *call)
    message = "The response is not one of the API."
    assert seen == {"error": [client.kind("unexpected_response"), "unexpected_response", response[0], message, None]}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("call", [ADD, ["category", 1]], ids=["add", "get"])
def test_a_redirect_is_not_followed(client: Client, call: list[Any], status: int) -> None:
    """It could make a list of an addition."""
    with scripted_server((status, "", {"Location": "/v1/pets"})) as script:
        seen = client.call(script.url, *call, own=True)
    message = "The address redirects to another one. Check the base URL."
    assert seen == {"error": [client.kind("unexpected_response"), "unexpected_response", status, message, None]}


@pytest.mark.parametrize("response", ["hang", "hang up"])
def test_no_response_at_all(client: Client, response: Any) -> None:
    with scripted_server(response, response) as script:
        seen = client.call(script.url, *ADD, max_retries=1, changed={"timeout": 1 if response == "hang" else 30})
    name = {"hang": client.timed_out, "hang up": client.hung_up}[response]
    assert seen == {"error": [client.kind("no_response"), "no_response", 0, f"No response came ({name}).", None]}


@pytest.mark.parametrize("response", [problem(503, "unavailable", Retry_After="0"), "hang up"], ids=["503", "hang up"])
def test_an_addition_without_a_key_is_sent_once(client: Client, response: Response) -> None:
    with scripted_server(response) as script:
        assert client.call(script.url, "add_without_key", MAPLE).keys() == {"error"}


def test_the_largest_id(client: Client) -> None:
    largest = PET | {"id": 2**63 - 1}
    with scripted_server((200, [largest], {})) as script:
        seen = client.call(script.url, *LIST)
    assert seen == ({"result": [largest]} if client.language == "python" else {"lost": "RangeError"})


@pytest.mark.parametrize("client", [PythonClient], indirect=True)
def test_no_response_is_still_what_older_clients_raised(client: Client) -> None:
    with scripted_server() as script:
        parents = client.call(script.url, "parents")["result"]
    assert parents[:3] == ["NoResponseError", "PetStoreError", "TransportError"]
