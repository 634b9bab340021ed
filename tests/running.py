"""Run a command of manage.py in this process."""

import json
from io import StringIO
from typing import Any

from django.core.management import call_command


def run(*arguments: str) -> str:
    """Return what it printed."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def run_json(*arguments: str) -> Any:
    out = run(*arguments, "--json")
    assert out.count("\n") == 1
    return json.loads(out)
