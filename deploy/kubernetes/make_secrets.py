"""Print new secrets for the manifests of this folder.

    python3 deploy/kubernetes/make_secrets.py petstore-database-rw | kubectl create --namespace petstore --filename -

The argument is the host of PostgreSQL, with a port if it is not 5432. docs/kubernetes.md explains it.
"""
# ruff: noqa: INP001, T201 - a program of its own, which prints

import json
import secrets
import sys
from typing import Any


def main(host: str) -> None:
    """Print a list that `kubectl create` reads."""
    key = secrets.token_urlsafe(64)
    roles = ("petstore_service", "petstore_migrator")
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret(role, host, key) for role in roles]}))


def secret(role: str, host: str, key: str) -> dict[str, Any]:
    """Return the secret of a role: for CloudNativePG its name and password, for our containers two files."""
    password = secrets.token_urlsafe(32)
    address = f"postgres://{role}:{password}@{host}/petstore?sslmode=require"
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": role.replace("_", "-")},
        "type": "kubernetes.io/basic-auth",
        "stringData": {"username": role, "password": password, "database": address, "secret_key": key},
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
