"""How environment variables are read; tests/test_settings.py has the valid values of each."""

from pathlib import Path
from typing import Any

import pytest

from petstore_site.configuration.env import ByEnvironment, Env, Variable, choice, flag, integer, items
from petstore_site.configuration.secret_key import development_key


def env_of(given: dict[str, str], *variables: Variable) -> Env:
    """Return an `Env` with these variables beside the one that all need."""
    environment = Variable(
        "PETSTORE_ENVIRONMENT", choice("development", "staging", "production"), "development", "", ""
    )
    return Env(given, [environment, *variables], {})


def read(parse: Any, default: Any, text: str | None) -> tuple[Any, list[str]]:
    """Return the value of a variable that has this text, and the mistakes."""
    env = env_of({} if text is None else {"X": text}, Variable("X", parse, default, ""))
    return env["X"], env.mistakes


@pytest.mark.parametrize(
    ("parse", "default", "text", "value", "mistakes"),
    [
        (str, "default", None, "default", []),
        (str, "default", "  ", "default", []),
        (str, "default", " a b ", "a b", []),
        (choice("a", "b"), "a", None, "a", []),
        (choice("a", "b"), "a", "b", "b", []),
        (choice("a", "b"), "a", "c", "a", ["X: must be one of a, b."]),
        (items, ["d"], None, ["d"], []),
        (items, [], "a, b,,c ", ["a", "b", "c"], []),
        (flag, True, "", True, []),
        (flag, False, "true", True, []),
        (flag, False, "1", True, []),
        (flag, True, "False", False, []),
        (flag, True, "0", False, []),
        (flag, True, "perhaps", True, ["X: must be true or false."]),
        (integer(1, 64), 4, "64", 64, []),
        *[
            (integer(1, 64), 4, text, 4, ["X: must be a whole number from 1 to 64."])
            for text in ("0", "65", "-1", "1.5", "x", "٣", "9" * 5000)
        ],
    ],
)
def test_values_and_mistakes(parse: Any, default: Any, text: str | None, value: object, mistakes: list[str]) -> None:
    assert read(parse, default, text) == (value, mistakes)


@pytest.mark.parametrize(("environment", "value"), [("development", 1), ("staging", 2), ("production", 3)])
def test_a_default_by_environment(environment: str, value: int) -> None:
    variable = Variable("X", int, ByEnvironment(1, 2, 3), "")
    assert env_of({"PETSTORE_ENVIRONMENT": environment}, variable)["X"] == value


@pytest.mark.parametrize(
    ("environment", "mistakes"),
    [
        ("development", []),
        ("staging", ["X: is required in staging: a word."]),
        ("production", ["X: is required in production: a word."]),
    ],
)
def test_a_required_variable(environment: str, mistakes: list[str]) -> None:
    env = env_of({"PETSTORE_ENVIRONMENT": environment}, Variable("X", str, "", "", required="a word."))
    assert (env["X"], env.mistakes) == ("", mistakes)


def test_a_secret_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(" s3cret\n")
    secret = Variable("X", str, "", "", is_secret=True)
    assert env_of({"X_FILE": str(file)}, secret)["X"] == "s3cret"
    assert env_of({"X_FILE": str(file)}, secret._replace(is_secret=False))["X"] == ""
    both = env_of({"X_FILE": str(file), "X": "other"}, secret)
    assert both["X"] == "s3cret"
    assert both.mistakes == ["X: set either X or X_FILE, not both."]


def test_a_secret_from_a_file_that_cannot_be_read() -> None:
    secret = Variable("X", str, "", "", is_secret=True, required="a word.")
    env = env_of({"X_FILE": "/nowhere", "PETSTORE_ENVIRONMENT": "production"}, secret)
    assert (env["X"], env.mistakes) == ("", ["X_FILE: must be the path of a readable UTF-8 file."])


def test_all_mistakes_at_once() -> None:
    env = env_of({})
    env.exit_on_mistakes()
    env.reject("A", "is wrong.")
    env.reject("B", "is missing.")
    with pytest.raises(SystemExit) as ended:
        env.exit_on_mistakes()
    assert str(ended.value) == ("The service cannot start. Fix these settings:\n  - A: is wrong.\n  - B: is missing.")


def test_a_development_key_of_another_account(tmp_path: Path) -> None:
    """A folder cannot be read either, and root can read every file."""
    (tmp_path / "secret-key").mkdir()
    env = env_of({})
    assert development_key(env, tmp_path) == ""
    [mistake] = env.mistakes
    file = tmp_path / "secret-key"
    assert mistake == (
        f"SECRET_KEY: is missing, and {file} cannot be used: Is a directory. Use the account that created it."
    )
