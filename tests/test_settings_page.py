"""docs/settings.md has every environment variable that the service reads, and no other."""

import ast
from pathlib import Path

import pytest

from petstore_site.configuration.variables import GROUPS, Variable, page
from tests.server import ROOT

GETTERS = {"text", "flag", "integer", "choice", "items", "parsed"}
SECRET_GETTERS = {"secret", "parsed_secret"}
READERS = [
    file
    for folder in (
        "petstore_site",
        "deploy",
        "pets",
        "categories",
        "idempotency",
        "rest",
        "database",
        "server",
        "commands",
    )
    for file in sorted((ROOT / folder).rglob("*.py"))
]
LISTED = [variable for variables in GROUPS.values() for variable in variables]


def names_read(getters: set[str]) -> set[str]:
    """Return the names that the code gives to these methods of an `Env`."""
    return {name for file in READERS for name in _names(file, getters)}


def _names(file: Path, getters: set[str]) -> list[str]:
    return [
        call.args[0].value
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in getters
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "env"
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    ]


def test_every_variable_that_the_code_reads_is_listed() -> None:
    read = {name for name in names_read(GETTERS | SECRET_GETTERS) if not name.endswith("_FILE")}
    assert sorted(variable.name for variable in LISTED) == sorted(read)


def test_those_that_can_be_in_a_file_are_marked() -> None:
    assert {variable.name for variable in LISTED if variable.is_secret} == names_read(SECRET_GETTERS)


def test_the_page_is_written_from_the_list() -> None:
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == page(), "Run: make settings"


@pytest.mark.parametrize("variable", LISTED, ids=lambda variable: variable.name)
def test_a_meaning_is_a_sentence(variable: Variable) -> None:
    assert variable.meaning.endswith(".")
