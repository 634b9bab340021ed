"""Each end of a command: exit status, sentence, JSON; and that nothing is kept that could not be printed."""

import json
from typing import Any

import pytest

from tests.commands.conftest import Ended, Shell

NO_SPACE = "Standard output cannot be written: No space left on device.\n"
CLOSED = "Standard output cannot be written: Bad file descriptor.\n"

UNREADABLE = [
    pytest.param("{} > /dev/full", Ended(1, "", NO_SPACE), id="full"),
    pytest.param("{} >&-", Ended(1, "", CLOSED), id="closed"),
    pytest.param("{} | exec 0<&-", Ended(141, "", ""), id="broken pipe"),
    pytest.param("{} >&- 2>&-", Ended(1, "", ""), id="both closed"),
]


def listed(shell: Shell, *options: str) -> Any:
    """Return what `list_api_keys --all --json` prints."""
    return json.loads(shell(" ".join(["manage list_api_keys --all --json", *options])).out)


@pytest.mark.parametrize(("line", "ended"), UNREADABLE)
@pytest.mark.parametrize("form", ["", "--json", "--secret-only"])
def test_no_key_is_issued_that_nobody_has_read(shell: Shell, line: str, ended: Ended, form: str) -> None:
    before = listed(shell)
    assert shell(line.format(f"manage issue_api_key Shop {form}")) == ended
    assert listed(shell) == before


@pytest.mark.parametrize(
    ("line", "status", "state", "message"),
    [
        ("issue_api_key", 2, "usage", "the following arguments are required: NAME"),
        ("issue_api_key Shop --scope all", 2, "usage", "argument --scope: invalid choice: 'all' (choose from 'read', 'write')"),
        ("issue_api_key ''", 3, "rejected", "name: This field cannot be blank."),
    ],
)  # fmt: skip
def test_json_for_every_end(shell: Shell, line: str, status: int, state: str, message: str) -> None:
    ended = shell(f"manage {line} --json")
    assert (ended.status, json.loads(ended.out)) == (status, {"state": state, "message": message})
    assert ended.err.endswith(f"{message}\n")


def test_usage_leaves_out_the_options_of_django(shell: Shell) -> None:
    assert shell("export COLUMNS=200; manage issue_api_key") == Ended(
        2,
        "",
        "usage: manage.py issue_api_key [-h] [--scope {read,write}] [--expires-in TIME] [--rate-limit N/min]"
        " [--contact TEXT] [--json | --secret-only] NAME\n"
        "the following arguments are required: NAME\n",
    )
    assert shell("manage issue_api_key --settings=petstore_site.settings --no-color --traceback -v 0 Shop").status == 0


def test_help_lists_our_commands_first(shell: Shell) -> None:
    told = shell("manage help").out
    assert told.index("    issue_api_key ") < told.index("changepassword")
