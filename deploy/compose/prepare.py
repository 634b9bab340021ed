"""Create the secrets and the folders that the containers of compose.yaml need, unless they exist.

Each group of containers has a volume of its own, so that none sees the secrets of another.
"""
# ruff: noqa: INP001 - a program of its own

import os
import secrets
import sys
from pathlib import Path

ROLES = ("petstore_migrator", "petstore_service", "petstore_backup")
SERVICE, POSTGRES = 10001, 999
"""The accounts of our containers and of PostgreSQL's."""


def main(folder: Path) -> None:
    """Write below this folder, into which the volumes are mounted."""
    passwords = {role: _secret(folder / "database" / role, POSTGRES) for role in ("postgres", *ROLES)}
    key = _secret(folder / "service" / "secret_key", SERVICE)
    _write(folder / "migrator" / "secret_key", key, SERVICE)
    for name in ("service", "migrator"):
        role = f"petstore_{name}"
        address = f"postgres://{role}:{passwords[role]}@database:5432/petstore"
        _write(folder / name / "database", address, SERVICE)
    _write(folder / "backup" / "petstore_backup", passwords["petstore_backup"], POSTGRES)
    for name in ("base", "dump", "wal"):
        (folder / "backups" / name).mkdir(exist_ok=True)
        (folder / "backups" / name).chmod(0o755 if name != "wal" else 0o700)
        _own(folder / "backups" / name, POSTGRES)
    _own(folder / "backups", POSTGRES)


def _secret(path: Path, account: int) -> str:
    """Return what the file has; the first time, make it."""
    if not path.exists():
        _write(path, secrets.token_urlsafe(64), account)
    return path.read_text(encoding="ascii")


def _write(path: Path, text: str, account: int) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="ascii")
    part.chmod(0o400)
    _own(part, account)
    part.replace(path)


def _own(path: Path, account: int) -> None:
    if os.geteuid() == 0:
        os.chown(path, account, account)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
