"""The help of each command ends with two command lines that work."""

import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.server import ROOT

FOUND = sorted(ROOT.glob("[a-z]*/**/management/commands/[a-z]*.py"))  # of no .venv
FILES = [path for path in FOUND if path.relative_to(ROOT).parts[0] != "var"]  # nor of a Debian of the laboratory


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_the_help_ends_with_two_examples_that_the_command_takes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    application = get_commands()[name]
    assert isinstance(application, str)
    parser = load_command_class(application, name).create_parser("manage.py", name)
    start, *lines = parser.format_help().partition("examples:")[2].splitlines()
    assert (start, len(set(lines))) == ("", 2)
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["manage.py", name]
        parser.parse_args(words[2:])


def test_there_are_commands() -> None:
    assert len(FILES) > 15
