"""Where and with what was measured."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from lab.benchmarks.processes import ROOT
from lab.benchmarks.servers import ENVIRONMENT, PEERS
from lab.benchmarks.stores import PostgreSQL

PACKAGES = ("django", "djangorestframework", "gunicorn", "psycopg", "django-ninja", "fastapi", "uvicorn", "asyncpg")
NODE_PACKAGES = ("fastify", "pg")


def circumstances(store: PostgreSQL) -> dict[str, Any]:
    """Return the date, the commit, the machine and the versions."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": _printed("git", "describe", "--always", "--dirty"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "load_average": round(os.getloadavg()[0], 2),
        "versions": {"PostgreSQL": store.version(), "Python": platform.python_version()} | dict(_versions()),
    }


def _processor() -> str:
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found[1] if found else platform.machine()


def _versions() -> Iterator[tuple[str, str]]:
    folders = [str(folder) for python in (ROOT / ".venv", ENVIRONMENT) for folder in python.glob("lib/*/site-packages")]
    yield from ((each.name, each.version) for each in distributions(path=folders) if each.name.lower() in PACKAGES)
    for name in NODE_PACKAGES:
        package = PEERS / "fastify" / "node_modules" / name / "package.json"
        if package.exists():
            yield name, json.loads(package.read_text(encoding="utf-8"))["version"]
            yield "Node", _printed("node", "--version").removeprefix("v")


def _printed(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()
