"""The secret key of a development environment that has no SECRET_KEY."""

from pathlib import Path
from tempfile import NamedTemporaryFile

from django.core.management.utils import get_random_secret_key

from petstore_site.configuration.env import Env


def development_key(env: Env, folder: Path) -> str:
    """Return the key that this folder keeps; the first time, generate one."""
    path = folder / "secret-key"
    try:
        if not path.exists() or not path.read_text(encoding="ascii"):
            with NamedTemporaryFile("w", dir=folder, delete=False, encoding="ascii") as file:  # readable by us alone
                file.write(get_random_secret_key())
            Path(file.name).replace(path)
        return path.read_text(encoding="ascii")
    except OSError as error:
        reason = f"{error.filename} cannot be used: {error.strerror}"
        env.reject("SECRET_KEY", f"is missing, and {reason}. Use the account that created it.")
        return ""
