"""Reads the settings from environment variables and reports every mistake at once.

A wrong setting stops the start with a sentence that names the variable and its valid values.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

T = TypeVar("T")


class Env:
    """Environment variables as typed values.

    A getter never raises: it records a sentence in `mistakes` and returns the default, so that
    `exit_on_mistakes` can list them all.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.mistakes: list[str] = []

    def reject(self, name: str, sentence: str) -> None:
        """Record that the variable `name` is wrong; `sentence` says which values are valid."""
        self.mistakes.append(f"{name}: {sentence}")

    def require(self, name: str, value: object, environment: str, sentence: str) -> None:
        """Record that the variable `name` is missing, except in development; `sentence` says what it is."""
        if not value and environment != "development":
            self.reject(name, f"is required in {environment}: {sentence}")

    def text(self, name: str, default: str = "") -> str:
        """Return the variable without surrounding blanks; unset and empty are the same."""
        return self.variables.get(name, "").strip() or default

    def secret(self, name: str, default: str = "") -> str:
        """Return the variable, or the content of the file that `<name>_FILE` names."""
        path = self.text(f"{name}_FILE")
        if not path:
            return self.text(name, default)
        if self.text(name):
            self.reject(name, f"set either {name} or {name}_FILE, not both.")
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            self.reject(f"{name}_FILE", "must be the path of a readable UTF-8 file.")
            return default

    def parsed(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Return `parse(text)`; a `ValueError` of `parse` becomes a mistake with its sentence."""
        return self._parse(name, self.text(name), parse, default)

    def parsed_secret(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Return the `secret` called `name`, parsed as by `parsed`."""
        return self._parse(name, self.secret(name), parse, default)

    def choice(self, name: str, options: Iterable[str], default: str) -> str:
        """Return the variable, which must be one of `options`."""
        value, allowed = self.text(name, default), list(options)
        if value in allowed:
            return value
        self.reject(name, f"must be one of {', '.join(allowed)}.")
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        """Return whether the variable is `true` (or `1`), as opposed to `false` (or `0`)."""
        words = {"true": True, "1": True, "false": False, "0": False}
        value = self.text(name, str(default)).lower()
        if value not in words:
            self.reject(name, "must be true or false.")
        return words.get(value, default)

    def integer(self, name: str, default: int, *, least: int, most: int) -> int:
        """Return the variable as a whole number between `least` and `most`."""
        value = self.text(name, str(default))
        if re.fullmatch(r"[0-9]{1,9}", value) and least <= int(value) <= most:
            return int(value)
        self.reject(name, f"must be a whole number from {least} to {most}.")
        return default

    def items(self, name: str, default: Iterable[str] = ()) -> list[str]:
        """Return the variable's comma-separated items."""
        text = self.text(name)
        return [item.strip() for item in text.split(",") if item.strip()] if text else list(default)

    def exit_on_mistakes(self) -> None:
        """Raise `SystemExit` (status 1) that lists every mistake, if there was one."""
        if self.mistakes:
            exit_with(self.mistakes)

    def _parse(self, name: str, text: str, parse: Callable[[str], T], default: T) -> T:
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            self.reject(name, str(error))
            return default


def exit_with(mistakes: Iterable[str]) -> NoReturn:
    """Raise `SystemExit` with one line a mistake."""
    lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
    message = f"The service cannot start. Fix these settings:\n{lines}"
    raise SystemExit(message)
