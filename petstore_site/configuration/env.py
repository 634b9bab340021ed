"""Reads the settings from environment variables, as `variables.py` declares them, and reports every mistake at once.

A wrong setting stops the start with a sentence that names the variable and its valid values.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

T = TypeVar("T")


class ByEnvironment(NamedTuple):
    """A default that depends on PETSTORE_ENVIRONMENT."""

    development: Any
    staging: Any
    production: Any


class Variable(NamedTuple):
    """One setting. `shown` and `meaning` are Markdown, as docs/settings.md has them; links start in `docs/`."""

    name: str
    parse: Callable[[str], Any]
    """Returns the value; raises `ValueError` with a sentence that follows the name. Blanks around it are gone."""
    default: Any
    """A value, or `ByEnvironment`."""
    meaning: str
    shown: str = ""
    """The default in words, where its value does not say it."""
    is_secret: bool = False
    """Whether `NAME_FILE` can name a file with the value."""
    required: str = ""
    """What it is, if production and staging don't start without it."""


class Env:
    """Environment variables as typed values: `env["PORT"]`.

    Reading never raises: it records a sentence in `mistakes` and returns the default, so that `exit_on_mistakes` can
    list them all.
    """

    def __init__(self, texts: Mapping[str, str], variables: Iterable[Variable], gone: Mapping[str, str]) -> None:
        """Take the variables of the process, what is read of them, and a sentence for each that is no longer read."""
        self._texts = texts
        self._variables = {variable.name: variable for variable in variables}
        self.mistakes: list[str] = []
        self.environment: str = self["PETSTORE_ENVIRONMENT"]
        for name, sentence in gone.items():
            for variable in (name, f"{name}_FILE"):
                if texts.get(variable):
                    self.reject(variable, sentence)

    def __getitem__(self, name: str) -> Any:
        """Return the value of a variable, or its default. Unset and empty are the same."""
        return self.parsed(name, self._variables[name].parse)

    def parsed(self, name: str, parse: Callable[[str], T]) -> T:
        """Return the same, parsed by a function that needs other settings."""
        variable = self._variables[name]
        text = self._text(variable)
        try:
            if text:
                return parse(text)
            if text is not None and variable.required and self.environment != "development":
                self.reject(name, f"is required in {self.environment}: {variable.required}")
        except ValueError as error:
            self.reject(name, str(error))
        default = variable.default
        return getattr(default, self.environment) if isinstance(default, ByEnvironment) else default  # type: ignore[no-any-return]

    def reject(self, name: str, sentence: str) -> None:
        """Record that the variable `name` is wrong; `sentence` says which values are valid."""
        self.mistakes.append(f"{name}: {sentence}")

    def exit_on_mistakes(self) -> None:
        """Raise `SystemExit` (status 1) that lists every mistake, if there was one."""
        if self.mistakes:
            exit_with(self.mistakes)

    def _text(self, variable: Variable) -> str | None:
        """Return what was given, perhaps in the file that `<name>_FILE` names; None if that cannot be read."""
        name = variable.name
        text, path = (self._texts.get(variable_name, "").strip() for variable_name in (name, f"{name}_FILE"))
        if not variable.is_secret or not path:
            return text
        if text:
            self.reject(name, f"set either {name} or {name}_FILE, not both.")
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            self.reject(f"{name}_FILE", "must be the path of a readable UTF-8 file.")
            return None


def exit_with(mistakes: Iterable[str]) -> NoReturn:
    """Raise `SystemExit` with one line a mistake."""
    lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
    raise SystemExit(f"The service cannot start. Fix these settings:\n{lines}")


# --- Parsers ---------------------------------------------------------------------------------------------------------


def choice(*allowed: str) -> Callable[[str], str]:
    """Return what reads exactly one of these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}.")
        return text

    return parse


def integer(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number in this range."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}.")
        return int(text)

    return parse


def flag(text: str) -> bool:
    """Return whether the text is `true` (or `1`), as opposed to `false` (or `0`)."""
    words = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in words:
        raise ValueError("must be true or false.")
    return words[text.lower()]


def items(text: str) -> list[str]:
    """Return the comma-separated items."""
    return [item.strip() for item in text.split(",") if item.strip()]
