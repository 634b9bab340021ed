"""The roles of deploy/postgresql/roles.sql: what each of them can do, and what the database denies it."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.apps import apps

from history.models import HistoryRow
from tests.server import ROOT, Gunicorn, manage, running_server, until
from tests.with_postgresql import Server

ROLES = (ROOT / "deploy/postgresql/roles.sql").read_text()
HISTORIES = [model._meta.db_table for model in apps.get_models() if issubclass(model, HistoryRow)]
OTHERS = [
    "categories_category",
    "pets_pet",
    "apikeys_apikey",
    "auth_user",
    "django_migrations",
]


@pytest.fixture(scope="module")
def database(postgresql: Server) -> Server:
    """A database that was migrated and given its roles as the documentation says."""
    for step in ("roles", "migrate", "roles", "roles"):
        if step == "migrate":
            manage(variables(postgresql, "petstore_migrator"), "migrate", "--verbosity=0")
        else:
            with closing(connect(postgresql, "postgres")) as connection:
                connection.execute(ROLES)
                connection.commit()
    return postgresql


def url(server: Server, role: str) -> str:
    return server.url.replace("//petstore@", f"//{role}@")


def variables(server: Server, role: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "DATABASE_URL": url(server, role)}


def connect(server: Server, role: str) -> psycopg.Connection:
    return psycopg.connect(url(server, role))


def denied(server: Server, role: str, statement: str) -> bool:
    with closing(connect(server, role)) as connection:
        try:
            connection.execute("SET default_transaction_read_only = off")
            connection.commit()
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return True
        return False


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (id int)",
        "CREATE SCHEMA mine",
        "CREATE EXTENSION pgcrypto",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE INDEX mine ON pets_pet (name)",
        "ALTER TABLE pets_pet ADD COLUMN mine int",
        "ALTER TABLE pets_pet DISABLE TRIGGER ALL",
        "DROP TRIGGER pet_added ON pets_pet",
        "DROP TABLE pets_pet",
        "SET session_replication_role = replica",
        "ALTER ROLE petstore_service SUPERUSER",
        "COPY pets_pet TO PROGRAM 'cat'",
        "SET ROLE petstore_migrator",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('pets', '9999', now())",
        "DELETE FROM django_migrations",
        *[f"TRUNCATE {table}" for table in [*OTHERS, *HISTORIES]],
        *[f"DELETE FROM {table}" for table in HISTORIES],
        *[f"UPDATE {table} SET actor = 'someone else'" for table in HISTORIES],
        *[f"UPDATE {table} SET history_date = now()" for table in HISTORIES],
    ],
)
def test_the_service_is_denied(database: Server, statement: str) -> None:
    assert denied(database, "petstore_service", statement)


@pytest.mark.parametrize("role", ["petstore_backup", "petstore_reader"])
@pytest.mark.parametrize("table", [*OTHERS, *HISTORIES])
def test_readers_write_nothing(database: Server, role: str, table: str) -> None:
    assert denied(database, role, f"DELETE FROM {table}")
    assert denied(database, role, f"INSERT INTO {table} DEFAULT VALUES")


def test_the_script_names_every_history() -> None:
    assert all(f"'{table}'" in ROLES for table in HISTORIES)


@pytest.mark.parametrize(
    ("table", "hidden"),
    [
        ("pets_pet", False),
        ("pets_petchange", False),
        ("pets_importrun", False),
        ("categories_category", False),
        ("pets_importupload", True),
        ("apikeys_apikey", True),
        ("auth_user", True),
        ("django_session", True),
        ("mfa_authenticator", True),
        ("idempotency_idempotentrequest", True),
        ("request_desk_requestrecord", True),
    ],
)
def test_the_reader_sees_the_catalogue_alone(database: Server, table: str, hidden: bool) -> None:
    assert denied(database, "petstore_reader", f"SELECT * FROM {table}") is hidden


def test_strangers_cannot_connect(database: Server) -> None:
    with closing(connect(database, "postgres")) as connection:
        connection.execute("CREATE ROLE stranger LOGIN")
        connection.commit()
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        connect(database, "stranger")


@pytest.mark.parametrize("role", ["petstore_service", "petstore_reader"])
def test_the_files_of_the_server_are_not_for(database: Server, role: str) -> None:
    assert denied(database, role, "SELECT name FROM pg_ls_waldir()")


def test_the_backup_role_dumps_everything(database: Server) -> None:
    command = [str(database.binaries / "pg_dump"), "--dbname", url(database, "petstore_backup")]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(f"COPY public.{table} " in dump for table in [*OTHERS, *HISTORIES])


def test_the_backup_role_makes_physical_backups(database: Server, tmp_path: Path) -> None:
    variables = {"PGHOST": str(database.folder), "PGUSER": "petstore_backup"}
    path = {"PATH": f"{database.binaries}:{os.environ['PATH']}"}
    command = [str(ROOT / "deploy/postgresql/base-backup"), str(tmp_path)]
    (tmp_path / "wal").mkdir()
    done = subprocess.run(command, env=variables | path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip(), "backup_manifest").exists()


SEED = """
import json
from categories.models import Category
from petstore_site.apikeys.models import APIKey
print(json.dumps({"key": APIKey.objects.issue(name="x")[1], "category": Category.objects.create(name="Dogs").pk}))
"""
DELETE_STAFF = """
from categories.models import Category
from django.contrib.auth.models import User
anna = User.objects.create(username="anna")
cats = Category(name="Cats")
cats._history_user = anna
cats.save()
anna.delete()
print([(row.history_user, row.name) for row in cats.history.all()])
"""


GATHER = """
from changes.additions import gather
from changes.models import Change
gather()
print(Change.objects.get(kind="addition").added)
"""


@pytest.fixture(scope="module")
def service(database: Server) -> Iterator[Gunicorn]:
    with running_server(database=url(database, "petstore_service"), workers=1) as service:
        yield service


def test_the_service_does_all_its_work(service: Gunicorn, tmp_path: Path) -> None:
    until(lambda: service.send("GET", "/readyz").status == 200)
    seed = json.loads(service.shell(SEED))
    for _ in range(2):
        assert service.post("/v1/pets", seed["key"], {"name": "Rex", "categoryId": seed["category"]}).status == 201
    assert service.shell(GATHER) == "2\n"
    file = tmp_path / "animals.csv"
    file.write_text("name,category,status,external_reference\nBella,Dogs,available,A1\nMaple,Dogs,sold,A2\n")
    assert json.loads(service.command("import_pets", str(file), "--json"))["state"] == "done"
    run = json.loads(service.command("list_imports", "--json"))[0]["import"]
    assert json.loads(service.command("undo_import", str(run), "--json"))["state"] == "undone"
    for command in ("purge_expired", "recount_stock", "create_staff_roles"):
        service.command(command)
    assert service.shell(DELETE_STAFF) == "[(None, 'Cats')]\n"


def test_the_migrator_can_undo_and_repeat_its_migrations(database: Server) -> None:
    for target in (["pets", "0028"], []):
        manage(variables(database, "petstore_migrator"), "migrate", "--verbosity=0", *target)
