"""Print new secrets for the manifests of this folder.

    python3 deploy/kubernetes/make_secrets.py HOST | kubectl create --namespace petstore --filename -

HOST leads to the primary. Add a port if it is not 5432. docs/kubernetes.md explains it.
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
    items = [secret(role, host, key) for role in roles]
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def secret(role: str, host: str, key: str) -> dict[str, Any]:
    """Return the secret of a role: for CloudNativePG its name and password, for our containers files."""
    password = secrets.token_urlsafe(32)
    database = f"postgres://{role}:{password}@{host}/petstore?sslmode=require"
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": role.replace("_", "-")},
        "type": "kubernetes.io/basic-auth",
        "stringData": {"username": role, "password": password, "secret_key": key, "database": database},
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
