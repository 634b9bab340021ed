"""Each end of a command: exit status, sentence, JSON; and that nothing is kept that could not be printed."""

import json
import os
import pty
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from tests.commands.conftest import MANAGE, Database, Ended, Shell
from tests.server import ROOT, SECONDS
from tests.whole import CSV_HEADER

NO_SPACE = "Standard output cannot be written: No space left on device.\n"
CLOSED = "Standard output cannot be written: Bad file descriptor.\n"

FULL = pytest.param("{} > /dev/full", Ended(1, "", NO_SPACE), id="full")
UNREADABLE = [
    FULL,
    pytest.param("{} >&-", Ended(1, "", CLOSED), id="closed"),
    pytest.param("{} | exec 0<&-", Ended(141, "", ""), id="broken pipe"),
    pytest.param("{} >&- 2>&-", Ended(1, "", ""), id="both closed"),
]


@pytest.fixture(scope="module")
def due(database: Database) -> str:
    """The ID of a key that expires soon, and a clerk's account, so that there is something to change."""
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": database.url}
    for line in ("create_admin clerk", "issue_api_key Due --expires-in 3d --json"):
        command = [*shlex.split(MANAGE), *line.split()]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)["key_id"])


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("command", "line", "ended"),
    [
        *[pytest.param("issue_api_key Shop", *each.values, id=str(each.id)) for each in UNREADABLE],
        *[
            pytest.param(command, *FULL.values, id=command)
            for command in (
                "issue_api_key Shop --secret-only",
                "rotate_api_key {due}",
                "rotate_api_keys --expiring-within 14d --json",
                "create_admin ada",
                "create_admin clerk --reset --password-only",
            )
        ],
    ],
)
def test_no_secret_is_kept_that_nobody_could_read(
    shell: Shell, database: Database, due: str, *, command: str, line: str, ended: Ended
) -> None:
    before = database.secrets()
    assert shell(line.format(f"manage {command.format(due=due)}")) == ended
    assert database.secrets() == before


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("command", "line", "ended"),
    [
        *[pytest.param("export_pets -", *each.values, id=str(each.id)) for each in UNREADABLE],
        *[pytest.param(command, *FULL.values, id=command) for command in ("check", "migrate", "version")],
    ],
)
def test_what_nobody_can_read(shell: Shell, command: str, line: str, ended: Ended) -> None:
    assert shell(line.format(f"manage {command}")) == ended


@pytest.mark.parametrize(
    ("line", "said"),
    [("> /dev/full", f"Done. {NO_SPACE}"), ("| exec 0<&-", ""), ("2> /dev/full >&2", "")],
)
def test_the_file_is_written_even_if_the_message_is_not(shell: Shell, tmp_path: Path, line: str, said: str) -> None:
    assert shell(f"manage export_pets {tmp_path}/a.csv {line}") == Ended(0, "", said)
    assert (tmp_path / "a.csv").read_text() == f"id,{CSV_HEADER}\n"


@pytest.mark.each_database
def test_make_run_keeps_no_login_that_nobody_could_read(shell: Shell, database: Database) -> None:
    database.query("DELETE FROM apikeys_apikey", "UPDATE auth_user SET is_staff = false")
    before = database.secrets()
    assert shell("manage prepare_development > /dev/full") == Ended(1, "", NO_SPACE)
    assert database.secrets() == before


@pytest.fixture
def _commits_fail(database: Database) -> Iterator[None]:
    """Let the database find out at COMMIT that it does not want a new key."""
    if database.is_sqlite:
        made = [
            "CREATE TABLE late (id integer REFERENCES auth_user (id) DEFERRABLE INITIALLY DEFERRED)",
            "CREATE TRIGGER late AFTER INSERT ON apikeys_apikey BEGIN INSERT INTO late VALUES (-1); END",
        ]
        removed = ["DROP TRIGGER late", "DROP TABLE late"]
    else:
        made = [
            "CREATE FUNCTION late() RETURNS trigger AS $$ BEGIN RAISE 'too late'; END $$ LANGUAGE plpgsql",
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON apikeys_apikey DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION late()",
        ]
        removed = ["DROP TRIGGER late ON apikeys_apikey", "DROP FUNCTION late"]
    database.query(*made)
    yield
    database.query(*removed)


@pytest.mark.each_database
@pytest.mark.usefixtures("_commits_fail")
def test_a_key_whose_commit_fails_is_not_kept(shell: Shell, database: Database) -> None:
    before = database.secrets()
    status, out, err = shell("manage issue_api_key Shop --secret-only")
    assert (status, out.startswith("pets_test_")) == (1, True)
    assert err.startswith("The database named by DATABASE_URL cannot be used: ")
    assert database.secrets() == before


@pytest.mark.parametrize(
    "command", ["list_api_keys", "help", "purge_expired --dry-run --json", "rotate_api_keys --expiring-within 1d --dry-run"]
)  # fmt: skip
def test_a_closed_pipe_is_silent(shell: Shell, command: str) -> None:
    assert shell(f"manage {command} | exec 0<&-") == Ended(141, "", "")


def test_a_command_needs_neither_standard_input_nor_standard_error(shell: Shell) -> None:
    key = json.loads(shell("manage issue_api_key Lost --json").out)["key_id"]
    assert shell(f"manage revoke_api_key {key} <&- 2>&-").status == 0
    assert shell("manage revoke_api_key <&- 2>&-") == Ended(2, "", "")


def test_what_was_done_stays_done(shell: Shell) -> None:
    key = json.loads(shell("manage issue_api_key Lost --json").out)["key_id"]
    assert shell(f"manage revoke_api_key {key} > /dev/full") == Ended(0, "", f"Done. {NO_SPACE}")
    assert state_of(shell, key) == "revoked"


def state_of(shell: Shell, key_id: str) -> str:
    keys = json.loads(shell("manage list_api_keys --all --json").out)
    return next(str(key["state"]) for key in keys if key["key_id"] == key_id)


def all_of(terminal: int) -> str:
    """Return what a terminal shows whose other end is closed; one `read` may return a part of it."""
    parts = []
    with open(terminal, "rb", buffering=0) as file, suppress(OSError):  # the error at its end
        while part := file.read(1000):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    ("answer", "status", "said", "state"),
    [("n\n", 130, "Nothing changed.", "active"), ("\n", 130, "Nothing changed.", "active"), ("y\n", 0, "", "revoked")],
)
def test_a_terminal_is_asked(
    shell: Shell, environment: dict[str, str], *, answer: str, status: int, said: str, state: str
) -> None:
    key = json.loads(shell("manage issue_api_key Lost --json").out)["key_id"]
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [*shlex.split(MANAGE), "revoke_api_key", key], cwd=ROOT, env=environment, stdin=end, stdout=subprocess.DEVNULL,
        stderr=end,
    )  # fmt: skip
    os.write(terminal, answer.encode())
    assert process.wait(SECONDS) == status
    os.close(end)
    shown = all_of(terminal)
    assert f'Revoke key {key} of "Lost" for good? [y/N] ' in shown
    assert said in shown
    assert state_of(shell, key) == state


@pytest.mark.each_database
def test_a_key_that_is_replaced_while_the_terminal_is_asked(shell: Shell, environment: dict[str, str]) -> None:
    """The others are still rotated."""
    replaced, other = (
        json.loads(shell(f"manage issue_api_key {name} --expires-in 1h --json").out)["key_id"]
        for name in ("Replaced", "Other")
    )
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [*shlex.split(MANAGE), "rotate_api_keys", "--expiring-within", "2h", "--json"], cwd=ROOT, env=environment,
        stdin=end, stdout=subprocess.PIPE, stderr=end, text=True,
    )  # fmt: skip
    os.close(end)  # reading fails when the process has ended
    question = ""
    while not question.endswith("Replace 2 keys? [y/N] "):
        question += os.read(terminal, 1000).decode()
    assert shell(f"manage rotate_api_key {replaced} --json").status == 0
    os.write(terminal, b"y\n")
    out, _ = process.communicate(timeout=SECONDS)
    os.close(terminal)
    assert (process.returncode, [each["replaces"]["key_id"] for each in json.loads(out)]) == (0, [other])


@pytest.mark.each_database
@pytest.mark.parametrize(("answer", "status", "state"), [("n\n", 130, "done"), ("y\n", 0, "undone")])
def test_undoing_an_import_is_asked_with_what_it_does(
    shell: Shell, environment: dict[str, str], tmp_path: Path, *, answer: str, status: int, state: str
) -> None:
    file = tmp_path / "stock.csv"
    file.write_text("name,category\nRex,Asked of\n")
    run = json.loads(shell(f"manage import_pets {file} --create-categories --again --json").out)
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [*shlex.split(MANAGE), "undo_import", str(run["import"])], cwd=ROOT, env=environment, stdin=end,
        stdout=subprocess.DEVNULL, stderr=end,
    )  # fmt: skip
    os.write(terminal, answer.encode())
    assert process.wait(SECONDS) == status
    os.close(end)
    at = datetime.fromisoformat(run["started_at"])
    what = f"Import {run['import']} of stock.csv by {run['who']}, {at:%Y-%m-%d %H:%M} UTC"
    asked = f"{what}. Undo: delete 1 animal? [y/N] "
    assert asked in all_of(terminal)
    assert json.loads(shell("manage list_imports --limit 1 --json").out)[0]["state"] == state


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize(
    ("line", "status", "state", "message"),
    [
        ("issue_api_key", 2, "usage", "the following arguments are required: NAME"),
        ("issue_api_key ''", 2, "usage", "argument NAME: This field cannot be blank."),
        ("create_admin clerk --password", 2, "usage", "argument --json: not allowed with argument --password-only"),
        ("create_admin clerk", 3, "rejected", "The account 'clerk' exists already. To restore access: create_admin clerk --reset"),
        ("export_pets README.md --format csv", 3, "rejected", "README.md exists already. Nothing was written. To replace it: --force"),
        ("export_pets /proc/a.csv", 1, "failed", "/proc/a.csv cannot be written: its folder does not exist."),
    ],
)  # fmt: skip
def test_json_for_every_end(shell: Shell, line: str, status: int, state: str, message: str) -> None:
    ended = shell(f"manage {line} --json")
    assert (ended.status, json.loads(ended.out)) == (status, {"state": state, "message": message})
    options = f"Options: manage.py help {line.split(maxsplit=1)[0]}\n" if state == "usage" else ""
    assert ended.err.endswith(f"{message}\n{options}")


def test_usage_leaves_out_the_options_of_django(shell: Shell) -> None:
    assert shell("manage revoke_api_key") == Ended(
        2, "", "the following arguments are required: KEY_ID\nOptions: manage.py help revoke_api_key\n"
    )
    options = "--settings=petstore_site.settings --no-color --traceback -v 0"
    assert shell(f"manage list_api_keys {options}").status == 0
    assert shell("manage revoke_api_key 00000000 --traceback").err.startswith("Traceback (most recent call last):")


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("import_pets a.csv --dryrun", ["unrecognized arguments: --dryrun", "Options: manage.py help import_pets"]),
        ("undo_import a.csv", ["argument RUN: invalid int value: 'a.csv'", "Options: manage.py help undo_import"]),
    ],
)
def test_what_is_mistyped_is_suggested_in_a_few_lines(shell: Shell, line: str, lines: list[str]) -> None:
    assert shell(f"manage {line}") == Ended(2, "", "".join(f"{each}\n" for each in lines))


def test_the_help_says_how_to_hide_the_progress(shell: Shell) -> None:
    assert "Hide the progress with -v0." in shell("manage import_pets --help").out
    assert "-v0" not in shell("manage list_imports --help").out


def test_a_file_beside_an_import_is_rejected_for_what_it_is(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("name,category\nRex,Nowhere\n")
    (tmp_path / "folder").mkdir()
    long = tmp_path / ("x" * 300)
    for name, sentence in [
        (file, f"{file} exists already. Choose another name.\n"),
        ("/dev/null", "/dev/null exists already. Choose another name.\n"),
        (tmp_path / "folder", f"{tmp_path / 'folder'} exists already. Choose another name.\n"),
        (tmp_path / "no" / "x", f"{tmp_path / 'no' / 'x'} cannot be written: No such file or directory.\n"),
        (long, f"{str(long)[:200]}… cannot be written: File name too long.\n"),
    ]:
        assert shell(f"manage import_pets {file} -v0 --rejects {name}") == Ended(3, "", sentence)
    gone = f"mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone"
    ended = shell(f"{gone}; {MANAGE} import_pets {file} -v0 --rejects r")
    assert (ended.status, ended.err) == (3, "r cannot be written: No such file or directory.\n")


def test_ctrl_c_while_the_program_starts_is_one_sentence(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "django").mkdir()
    (tmp_path / "django" / "__init__.py").write_text("print('loading', flush=True)\nimport time\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [*shlex.split(MANAGE), "list_imports"], cwd=ROOT, env=environment | {"PYTHONPATH": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (130, "Stopped.\n")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (f"{MANAGE} iss", "issue_api_key"),
        (f"{MANAGE} rotate_api_keys --e", "--expiring-within="),
        ("python other.py iss", ""),
    ],
)
def test_completion_in_bash(shell: Shell, words: str, completed: str) -> None:
    function = f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _manage_py"
    assert shell(f'. deploy/completion.bash; {function}; echo "${{COMPREPLY[*]}}"').out == f"{completed}\n"
