"""Run what the documents and the portal show, and check the table of errors and the decision records."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils.text import slugify

from clients.tools import node_tools
from rest.errors import ErrorCode
from tests.clients.conftest import or_skip, without_types
from tests.server import ROOT, Gunicorn, running_server

README = (ROOT / "README.md").read_text(encoding="utf-8")
IMPORTS = (ROOT / "docs" / "import-commands.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
LANGUAGES = ("sh", "python", "ts")
TITLES = re.findall(r"^```sh run (.+)$", API, re.MULTILINE)
OPERATIONS = ("listPets", "createPet", "getPet", "listCategories", "getCategory", "listChanges")
RUNNERS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"], "ts": ["node"]}
COMPILER_OPTIONS = {
    "strict": True,
    "target": "es2022",
    "module": "nodenext",
    "moduleDetection": "force",
    "lib": ["es2023", "dom", "dom.iterable"],
    "types": ["node"],
    "skipLibCheck": True,
    "noEmit": True,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Gunicorn]:
    with running_server(workers=1) as server:
        server.command("load_demo_data")
        yield server


@pytest.fixture(scope="module")
def environment(server: Gunicorn) -> dict[str, str]:
    key = server.issue_key("Reader of the documents")
    return {"PATH": os.environ["PATH"], "PETSTORE_API_KEY": key}


@pytest.fixture(scope="module")
def samples(server: Gunicorn) -> dict[tuple[str, str], str]:
    """What a reader copies from the portal: (name of the sample, language) → code."""
    pages = "".join(server.send("GET", path).body.decode() for path in ("/docs/guide/", "/docs/"))
    panel = r'role="tabpanel" id="([\w-]+)-(sh|python|ts)".*?<code class="hl">(.*?)</code></pre>'
    return {
        (name, language): html.unescape(re.sub(r"<[^>]+>", "", code))
        for name, language, code in re.findall(panel, pages, re.DOTALL)
    }


@pytest.fixture(scope="module")
def compiled(samples: dict[tuple[str, str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of TypeScript samples, also as JavaScript."""
    found = {name: code for (name, language), code in samples.items() if language == "ts"}
    folder = javascript_in(tmp_path_factory.mktemp("samples"), found)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER_OPTIONS, "include": ["*.ts"]}))
    return folder


def javascript_in(folder: Path, samples: dict[str, str]) -> Path:
    """Return the folder with TypeScript samples, also as JavaScript, and with the libraries that they import."""
    with or_skip():
        (folder / "node_modules").symlink_to(node_tools())
    for name, code in samples.items():
        (folder / f"{name}.ts").write_text(code)
    without_types(folder)
    return folder


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on PATH")


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readmes_calls_have_their_real_answers(
    server: Gunicorn, environment: dict[str, str], tmp_path: Path
) -> None:
    need("curl")
    console = re.search(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert console
    calls = re.findall(r"^\$ (curl (?:.*\\\n)*.*)\n(.*)\n", console[1], re.MULTILINE)
    assert len(calls) == 3
    for call, answer in calls:
        here = call.replace("http://127.0.0.1:8000", server.url).replace("curl ", "curl -sS ", 1)
        assert run(["bash", "-c", here], environment, tmp_path) == answer


def test_the_calls_of_import_commands_md_print_what_it_shows(database: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": database}
    run([sys.executable, str(ROOT / "manage.py"), "load_demo_data", "-v0"], environment, tmp_path)
    console = "".join(re.findall(r"^```console\n(.*?)^```$", IMPORTS, re.MULTILINE | re.DOTALL))
    calls = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", console, re.MULTILINE)
    assert len(calls) == 12
    for call, shown in calls:
        here = call.replace(".venv/bin/python manage.py", f"{sys.executable} {ROOT / 'manage.py'}")
        done = subprocess.run(
            ["bash", "-c", f"{here} 2>&1"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        printed = done.stdout.replace(f"{tmp_path}/", "/srv/files/")
        assert _without_times(printed) == _without_times(shown)


def _without_times(text: str) -> list[str]:
    """Return the lines without what differs from run to run (when, how long, by whom) or cannot be seen."""
    text = text.removeprefix("\ufeff").replace("\n\ufeff", "\n")
    text = re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d", "DATE", text)
    text = re.sub(r" by \S+: ", " by WHO: ", text)
    text = re.sub(r"in [\d.]+ s\.", "in SECONDS.", text)
    text = re.sub(r" +[\d.]+  \S+ +(\S+)$", r" SECONDS WHO \1", text, flags=re.MULTILINE)
    return sorted(text.splitlines())  # standard error may come before or after standard output


def name_of(title: str) -> str:
    """Return the name on the page of the sample with this title in docs/api.md."""
    before = API[: API.index(f"```sh run {title}\n")]
    section = re.findall(r"^### (.+)$", before, re.MULTILINE)[-1]
    inside = before[before.rindex(f"### {section}") :]
    return f"{slugify(section)}-{len(re.findall(r'^```[a-z]', inside, re.MULTILINE)) + 1}"


@pytest.fixture
def run_sample(
    samples: dict[tuple[str, str], str], environment: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[str, str], str]:
    """Run a sample as a reader would, and return what it printed."""

    def run_sample(name: str, language: str) -> str:
        need("curl" if language == "sh" else RUNNERS[language][0])
        if language == "ts":
            file = request.getfixturevalue("compiled") / f"{name}.js"
            return run([*RUNNERS[language], str(file)], environment, tmp_path)
        return run([*RUNNERS[language], samples[name, language]], environment, tmp_path)

    return run_sample


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", [*(map(name_of, TITLES)), *OPERATIONS])
def test_every_sample_runs(run_sample: Callable[[str, str], str], name: str, language: str) -> None:
    printed = run_sample(name, language)
    assert printed.strip()
    assert ('"code"' in printed) is (name == "errors-1" and language == "sh"), printed


def test_types_are_right_to_a_strict_checker(compiled: Path) -> None:
    done = subprocess.run(
        ["node_modules/.bin/tsc"], cwd=compiled, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout


def test_no_sample_is_left_out(samples: dict[tuple[str, str], str]) -> None:
    names = [*map(name_of, TITLES), *OPERATIONS]
    assert set(samples) == {(name, language) for name in names for language in LANGUAGES}


def test_the_curl_sample_adds_another_animal_with_another_name(
    samples: dict[tuple[str, str], str], environment: dict[str, str], tmp_path: Path
) -> None:
    need("curl")
    first = samples["createPet", "sh"].replace("curl", "curl -sS --fail-with-body", 1)
    second = first.replace("Biscuit", "Juniper")
    added = [json.loads(run(["sh", "-c", one], environment, tmp_path)) for one in (first, second)]
    assert [pet["name"] for pet in added] == ["Biscuit", "Juniper"]


@pytest.mark.parametrize("language", ["python", "ts"])
def test_the_walk_finds_every_animal(server: Gunicorn, run_sample: Callable[[str, str], str], language: str) -> None:
    known = server.shell("from pets.models import Pet; print(Pet.objects.count())")
    assert run_sample(name_of("Read every page"), language) == f"{known.strip()} animals\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_conditional_get_is_a_304(run_sample: Callable[[str, str], str], language: str) -> None:
    assert run_sample(name_of("Ask whether anything changed"), language) == "304\n"


def test_the_table_of_errors_is_the_enums() -> None:
    rows = re.findall(r"^\| (\d{3}) \| \[`(\w+)`\]\(errors\.md#(\w+)\) \| (.+) \| (.+) \|$", API, re.MULTILINE)
    assert rows == [(str(int(code.status)), code.value, code.value, code.meaning, code.cure) for code in ErrorCode]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_each_decision_has_its_four_parts_and_names_its_tests(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences", "Tests"]
    named = re.findall(r"`((?:tests|lab)/[\w./-]+)", text)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
