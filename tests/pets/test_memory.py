"""How much memory a command takes at most, whatever the number of animals."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from pets.importing.options import Options
from pets.importing.progress import Progress
from pets.importing.run import import_file
from pets.models import Pet

MANY = 100_000
MOST = 150 * 1024
"""KiB."""

UNDO = """
import sys
from pathlib import Path
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
django.setup()
from django.core.management import call_command
try:
    call_command("undo_import", sys.argv[2], "--json", "-v0")
finally:
    print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_an_undo_that_leaves_many_holds_few_of_them(tmp_path: Path) -> None:
    file = tmp_path / "animals.csv"
    file.write_text("name,category\n" + "Rex,Dogs\n" * MANY)
    run = import_file(str(file), Options(create_categories=True), Progress(None, shown=False)).run
    Pet.objects.update(status="sold")
    name: Any = connection.settings_dict["NAME"]
    done = subprocess.run(
        [sys.executable, "-c", UNDO, str(name), str(run.pk)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "petstore_site.settings"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert len(json.loads(done.stdout)["left"]) == MANY
    assert int(done.stderr.split()[-1]) <= MOST
