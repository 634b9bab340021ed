"""Print new secrets for the manifests of this folder.

    python3 deploy/kubernetes/make_secrets.py HOST [SERVER …] | kubectl create --namespace petstore --filename -

HOST leads to the primary, and the SERVERs are all that can be it, for DATABASE_STANDBY_URL. Add a port to each that has
another one than 5432. docs/kubernetes.md explains it.
"""
# ruff: noqa: INP001, T201 - a program of its own, which prints

import json
import secrets
import sys
from typing import Any


def main(host: str, servers: list[str]) -> None:
    """Print a list that `kubectl create` reads."""
    key = secrets.token_urlsafe(64)
    roles = ("petstore_service", "petstore_migrator")
    items = [secret(role, host, servers, key) for role in roles]
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def secret(role: str, host: str, servers: list[str], key: str) -> dict[str, Any]:
    """Return the secret of a role: for CloudNativePG its name and password, for our containers files."""
    password = secrets.token_urlsafe(32)
    addresses = {"database": host} | ({"standbys": ",".join(servers)} if servers else {})
    files = {file: f"postgres://{role}:{password}@{at}/petstore?sslmode=require" for file, at in addresses.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": role.replace("_", "-")},
        "type": "kubernetes.io/basic-auth",
        "stringData": {"username": role, "password": password, "secret_key": key} | files,
    }


if __name__ == "__main__":
    if len(sys.argv) == 1:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
