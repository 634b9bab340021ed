"""Which version of the service this is."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def version() -> str:
    """Return the version that `pyproject.toml` has."""
    return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
