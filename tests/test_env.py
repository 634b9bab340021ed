"""How environment variables are read; tests/test_settings.py has the valid values of each."""

from pathlib import Path
from typing import Any

import pytest

from petstore_site.configuration.env import Env
from petstore_site.configuration.secret_key import secret_key


def whole(text: str) -> int:
    if not text.isdecimal():
        message = "must be a whole number."
        raise ValueError(message)
    return int(text)


@pytest.mark.parametrize(
    ("getter", "arguments", "variables", "value", "mistakes"),
    [
        ("text", ["default"], {}, "default", []),
        ("text", ["default"], {"X": "  "}, "default", []),
        ("text", ["default"], {"X": " a b "}, "a b", []),
        ("choice", [["a", "b"], "a"], {}, "a", []),
        ("choice", [["a", "b"], "a"], {"X": "b"}, "b", []),
        ("choice", [["a", "b"], "a"], {"X": "c"}, "a", ["X: must be one of a, b."]),
        ("items", [["d"]], {}, ["d"], []),
        ("items", [], {"X": "a, b,,c "}, ["a", "b", "c"], []),
        ("parsed", [whole, 7], {}, 7, []),
        ("parsed", [whole, 7], {"X": "8"}, 8, []),
        ("parsed", [whole, 7], {"X": "many"}, 7, ["X: must be a whole number."]),
        ("parsed_secret", [whole, 7], {"X": "many"}, 7, ["X: must be a whole number."]),
        ("secret", ["default"], {}, "default", []),
        ("secret", [], {"X_FILE": "/nowhere"}, "", ["X_FILE: must be the path of a readable UTF-8 file."]),
    ],
)
def test_values_and_mistakes(
    getter: str, arguments: list[Any], variables: dict[str, str], value: object, mistakes: list[str]
) -> None:
    env = Env(variables)
    assert (getattr(env, getter)("X", *arguments), env.mistakes) == (value, mistakes)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("False", False), ("0", False), ("", True)])
def test_flags(text: str, value: bool) -> None:
    assert Env({"X": text}).flag("X", default=True) is value


def test_a_flag_that_is_none() -> None:
    env = Env({"X": "perhaps"})
    assert (env.flag("X", default=False), env.mistakes) == (False, ["X: must be true or false."])


@pytest.mark.parametrize("text", ["0", "65", "-1", "1.5", "x", "٣", "9" * 5000])
def test_numbers_out_of_range(text: str) -> None:
    env = Env({"X": text})
    assert (env.integer("X", 4, least=1, most=64), env.mistakes) == (4, ["X: must be a whole number from 1 to 64."])


def test_a_secret_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(" s3cret\n")
    assert Env({"X_FILE": str(file)}).secret("X") == "s3cret"
    both = Env({"X_FILE": str(file), "X": "other"})
    both.secret("X")
    assert both.mistakes == ["X: set either X or X_FILE, not both."]


def test_all_mistakes_at_once() -> None:
    env = Env({})
    env.exit_on_mistakes()
    env.reject("A", "is wrong.")
    env.reject("B", "is missing.")
    with pytest.raises(SystemExit) as ended:
        env.exit_on_mistakes()
    assert str(ended.value) == ("The service cannot start. Fix these settings:\n  - A: is wrong.\n  - B: is missing.")


def test_a_development_key_of_another_account(tmp_path: Path) -> None:
    """A folder cannot be read either, and root can read every file."""
    (tmp_path / "secret-key").mkdir()
    env = Env({})
    assert secret_key(env, "development", tmp_path) == ""
    [mistake] = env.mistakes
    file = tmp_path / "secret-key"
    assert mistake == (
        f"SECRET_KEY: is missing, and {file} cannot be used: Is a directory. Use the account that created it."
    )
