"""The secret key: that of SECRET_KEY, or in development one that is made."""

from pathlib import Path
from tempfile import NamedTemporaryFile

from django.core.management.utils import get_random_secret_key

from petstore_site.configuration.env import Env


def secret_key(env: Env, environment: str, folder: Path) -> str:
    """Return the key; that of a development environment is kept in this folder."""
    given = env.secret("SECRET_KEY")
    if not given and environment == "development":
        try:
            return _development_key(folder)
        except OSError as error:
            reason = f"{error.filename} cannot be used: {error.strerror}"
            env.reject("SECRET_KEY", f"is missing, and {reason}. Use the account that created it.")
            return ""
    form = "50 or more random characters, or SECRET_KEY_FILE, the path of a file with them."
    env.require("SECRET_KEY", given, environment, form)
    if given and (len(given) < 50 or len(set(given)) < 5 or given.startswith("django-insecure-")):
        env.reject("SECRET_KEY", "must have 50 or more random characters.")
    return given


def _development_key(folder: Path) -> str:
    """Return the key that this folder keeps; the first time, make one."""
    path = folder / "secret-key"
    if not path.exists() or not path.read_text(encoding="ascii"):
        with NamedTemporaryFile("w", dir=folder, delete=False, encoding="ascii") as file:  # readable by us alone
            file.write(get_random_secret_key())
        Path(file.name).replace(path)
    return path.read_text(encoding="ascii")
