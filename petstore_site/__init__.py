"""The Django project: settings, middleware, API keys, staff, back office and public pages."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def version() -> str:
    """Return the version of the service, which `pyproject.toml` has."""
    return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
