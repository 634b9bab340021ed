"""The shared base of our `manage.py` commands. It does not depend on animals, keys or requests."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def version() -> str:
    """Return the version of the service, which `pyproject.toml` has."""
    return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
