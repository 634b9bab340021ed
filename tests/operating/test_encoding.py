"""PostgreSQL in another encoding than UTF8 can't fold names for the search: `migrate` says so."""

import os
import subprocess
import sys

import psycopg

from tests.server import ROOT
from tests.with_postgresql import Server


def test_a_database_that_is_not_unicode_is_rejected(postgresql: Server) -> None:
    with psycopg.connect(postgresql.url.replace("//petstore@", "//postgres@"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE old OWNER petstore ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": postgresql.url.replace("@/petstore?", "@/old?")}
    migrated = subprocess.run(
        [sys.executable, ROOT / "manage.py", "migrate", "--verbosity=0"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert migrated.returncode == 1
    assert "Names need a database with the encoding UTF8. This one has SQL_ASCII." in migrated.stderr
