"""docs/settings.md has every environment variable that the service reads, and no other."""

import re

import pytest

from petstore_site.configuration.env import Variable
from petstore_site.configuration.variables import GROUPS
from tests.server import ROOT
from tests.settings_page import page

LISTED = [variable for variables in GROUPS.values() for variable in variables]
READERS = [ROOT / "deploy" / "gunicorn.conf.py", *(ROOT / "petstore_site").rglob("*.py")]


def test_every_variable_that_is_listed_is_read() -> None:
    read = {
        name
        for file in READERS
        for name in re.findall(r"""env(?:\[|\.parsed\()"([A-Z_]+)\"""", file.read_text(encoding="utf-8"))
    }
    assert {variable.name for variable in LISTED} - read == {"PETSTORE_ENVIRONMENT"}, "`Env` reads this one itself"


def test_the_page_is_written_from_the_list() -> None:
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == page(), "Run: make settings"


@pytest.mark.parametrize("variable", LISTED, ids=lambda variable: variable.name)
def test_a_meaning_is_a_sentence(variable: Variable) -> None:
    assert variable.meaning.endswith(".")
