"""The secret key of a development environment."""

from pathlib import Path
from tempfile import NamedTemporaryFile

from django.core.management.utils import get_random_secret_key


def development_secret_key(folder: Path) -> str:
    """Return the key that this folder keeps; the first time, make one."""
    path = folder / "secret-key"
    if not path.exists() or not path.read_text(encoding="ascii"):
        with NamedTemporaryFile("w", dir=folder, delete=False, encoding="ascii") as file:  # readable by us alone
            file.write(get_random_secret_key())
        Path(file.name).replace(path)
    return path.read_text(encoding="ascii")
