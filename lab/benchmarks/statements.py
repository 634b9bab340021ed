"""Run a command of manage.py, and write to a file which statements took how long.

python -m lab.benchmarks.statements FILE import_pets new.csv -v0
"""

import json
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

TARGET = re.compile(
    r"(INSERT INTO|UPDATE|DELETE FROM|CREATE TEMPORARY TABLE|ANALYZE) (\w+)|SELECT .*? FROM (\w+)", re.DOTALL
)
READING = "COPY import_rows, while the file is read and checked"
REST = "start, end and what is between statements"
OTHER = "all other statements"
LEAST = 0.01
"""The share below which statements are summed up."""


class Clock:
    """Adds up seconds by what they were for; what is inside something else counts only once, where it belongs."""

    def __init__(self) -> None:
        """Start."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside = 0.0

    @contextmanager
    def taking(self, what: str) -> Iterator[None]:
        """Count the time of the block."""
        before, self._inside, began = self._inside, 0.0, time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self.seconds[what] += took - self._inside
            self._inside = before + took

    def parts(self) -> list[tuple[str, float]]:
        """Return what took how long, longest first, with all that took little in one."""
        total = sum(self.seconds.values())
        large = {what: took for what, took in self.seconds.items() if took >= LEAST * total and what != OTHER}
        parts = sorted(large.items(), key=lambda part: -part[1])
        return [*parts, (OTHER, total - sum(large.values()))]


def name_of(statement: str) -> str:
    """Return what a statement does to which table."""
    found = TARGET.match(" ".join(statement.split()))
    if not found:
        return OTHER
    return f"{found[1]} {found[2]}" if found[1] else f"SELECT FROM {found[3]}"


def main() -> None:
    """Run the command in this process."""
    clock = Clock()
    with clock.taking(REST):
        file, *arguments = sys.argv[1:]
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
        django.setup()
        _watch(clock)
        from django.core.management import call_command

        call_command(*arguments)
    Path(file).write_text(json.dumps(clock.parts()), encoding="utf-8")


def _watch(clock: Clock) -> None:
    from django.db import connection
    from files import staging

    def execute(call: Any, sql: str, *given: Any) -> Any:
        with clock.taking(name_of(sql)):
            return call(sql, *given)

    stage, commit = staging.stage, connection.commit

    def staged(parts: Any) -> None:
        with clock.taking(READING):
            stage(parts)

    def committed() -> None:
        with clock.taking("COMMIT"):
            commit()

    connection.execute_wrappers.append(execute)
    staging.stage = staged
    connection.commit = committed  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
