"""How much memory a command takes at most, whatever the number of animals or the file."""

import os
import random
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.db.models import Max, Min

from files.options import Options
from files.progress import Progress
from files.run import import_file
from pets.models import ImportRun, Pet
from tests.files.conftest import workbook
from tests.server import SECONDS

MANY = 100_000
MOST = 150 * 1024
"""KiB."""

MOST_OF_HOSTILE = 120 * 1024
"""KiB, whatever the file holds."""

COMMAND = """
import sys
from pathlib import Path
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
django.setup()
from django.core.management import call_command
try:
    call_command(*sys.argv[2:], "-v0")
finally:
    print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


def peak(*arguments: str) -> tuple[str, int]:
    """Run a command in a process of its own; return what it printed, and its largest size in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(connection.settings_dict["NAME"]), *arguments],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "petstore_site.settings"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    *_, size = (line for line in done.stderr.splitlines() if line.isdecimal())
    return done.stdout, int(size)


def categories_of_letters() -> bytes:
    """Return rows of as many new categories: each name is kept once for each of its typos."""
    letters = random.Random(1).choices(string.ascii_letters, k=10_000 * 50)
    rows = ("a," + "".join(letters[start : start + 50]) + "\n" for start in range(0, len(letters), 50))
    return HEADER + "".join(rows).encode()


HEADER = b"name,category\n"
OBJECT = b'{"name": "a", "category": "b"}\n'
HOSTILE: dict[str, Callable[[], bytes]] = {
    "short lines in a quoted cell": lambda: HEADER + b'"' + b"a\n" * 50_000_000,
    "short lines in quoted cells": lambda: HEADER + (b'"' + b"a\n" * 260_000 + b'",b\n') * 20,
    "wide letters": lambda: HEADER + (b'"' + "\U0001f600\n".encode() * 260_000 + b'",b\n') * 20,
    "many cells": lambda: HEADER + (b"ab," * 170_000 + b"b\n") * 30,
    "long numbers": lambda: OBJECT + (b'{"name": [' + b"1.5," * 130_000 + b"1]}\n") * 15,
    "many names": lambda: OBJECT + b"{" + b",".join(b'"%d": []' % number for number in range(40_000)) + b"}\n",
    "a long value": lambda: OBJECT + (b'{"name": "' + "\U0001f600".encode() * 520_000 + b'"}\n') * 30,
    "long rows of a workbook": lambda: workbook(["name", "category"], *[["x" * 32_000] * 30] * 120),
    "an array": lambda: b"[" + b"[1e1]," * 260_000 + b"1]",
    "new categories": categories_of_letters,
}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("content", HOSTILE)
def test_a_file_that_is_made_to_take_memory_takes_little(tmp_path: Path, content: str) -> None:
    file = tmp_path / "animals"
    file.write_bytes(HOSTILE[content]())
    _, size = peak("import_pets", str(file), "--on-error", "skip", "--create-categories")
    assert size <= MOST_OF_HOSTILE


@pytest.fixture
def many(transactional_db: None, tmp_path: Path) -> ImportRun:
    file = tmp_path / "animals.csv"
    file.write_text("name,category\n" + "Rex,Dogs\n" * MANY)
    return import_file(str(file), Options(create_categories=True), Progress()).run


@pytest.mark.slow
@pytest.mark.each_database
def test_an_export_of_many_holds_few_of_them(many: ImportRun, tmp_path: Path) -> None:
    numbers = Pet.objects.aggregate(first=Min("pk"), last=Max("pk"))
    for first in range(numbers["first"], numbers["last"] + 1, 5_000):  # each within the deadline, on a busy machine too
        Pet.objects.filter(pk__gte=first, pk__lt=first + 5_000).update(name="\U0001f600" * 255)
    assert not Pet.objects.filter(name="Rex").exists()
    file = tmp_path / "animals.jsonl"
    _, size = peak("export_pets", str(file))
    assert file.read_bytes().count(b"\n") == MANY
    assert size <= MOST
