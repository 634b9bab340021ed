"""What every test needs: a key, a client that sends it, and nothing left over from the test before."""

import gc
import json
import os
import shutil
from collections.abc import Generator, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.signals import setting_changed
from django.db import connection
from django.dispatch import receiver
from django.test import Client, TransactionTestCase, client

from categories.models import Category
from database.errors import breaker as database_breaker
from database.errors import reset_commit_state
from history.acting import end_request
from petstore_site.apikeys import lookup, usage
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk import records
from petstore_site.portal import views as portal
from petstore_site.serving import health, metrics
from rest.limits import breaker as limits_breaker
from rest.limits import build_limiter
from rest.request import DjangoRequest
from tests.days import today
from tests.emptying import empty_tables
from tests.factories import CategoryFactory
from tests.pets.office import member
from tests.server import migrated_database

SLOW = (
    "apikeys/test_commands.py",
    "changes/test_people.py",
    "clients/",
    "commands/",
    "contract/test_description_holds.py",
    "e2e/",
    "operating/",
    "properties/test_limits.py",
    "properties/test_names.py",
    "protocol/",
    "serving/test_live.py",
    "staff/test_roles.py",
    "staff/test_sight.py",
    "staff/test_stock_words.py",
    "test_docs.py",
    "test_docs_retries.py",
    "test_examples.py",
    "test_gunicorn.py",
    "test_install.py",
    "test_manage.py",
    "test_release.py",
    "test_settings.py",
)
"""Tests that take long and hardly depend on the database: `make test-slow` runs them once."""

SLOW_ON_EACH_DATABASE = (
    "following/",
    "files/test_runs.py",
    "changes/test_race_matrix.py",
    "properties/",
    "test_live.py",
    "test_release_before.py",
    "test_upgrades.py",
    "test_work.py",
)
"""Tests that take long and depend on transactions and locks: `make test-slow` runs them on each database."""

READING = (
    "contract/test_no_break.py",
    "files/test_countries.py",
    "files/test_encodings.py",
    "files/test_formats.py",
    "files/test_programs.py",
    "files/test_reading.py",
    "files/test_sheets.py",
    "files/test_spreadsheets.py",
    "files/test_workbooks.py",
    "portal/",
    "serving/test_door.py",
    "staff/test_tasks.py",
    "test_charts.py",
    "test_documented_limits.py",
    "test_links.py",
    "test_logs.py",
    "test_named.py",
    "test_pages.py",
    "test_private_names.py",
    "test_safe_migrations.py",
    "test_settings_page.py",
    "test_times.py",
)
"""Tests that read many files or pages, or wait, and hardly depend on the database: they run on SQLite only."""

SLOW_ON_POSTGRESQL = (
    "apikeys/test_admin.py",
    "apikeys/test_history.py",
    "apikeys/test_issuing.py",
    "apikeys/test_overview.py",
    "categories/test_admin.py",
    "changes/test_activity_pages.py",
    "changes/test_comments.py",
    "changes/test_history.py",
    "changes/test_model.py",
    "changes/test_notices.py",
    "changes/test_undo_pages.py",
    "files/",
    "pets/test_demo.py",
    "pets/test_listing.py",
    "pets/test_page.py",
    "request_desk/",
    "staff/",
    "test_attention.py",
    "test_dashboard.py",
    "test_lookups.py",
    "test_search",
    "test_smoke.py",
    "test_statements.py",
)
"""Tests that read many files, pages or tables: `make test` runs them on SQLite only, `make test-slow` on each database."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests by the place where they are. Write down beside the report how many are left out."""
    on_postgresql = connection.vendor == "postgresql"
    once = SLOW + (READING if on_postgresql else ())
    depend_on_database = SLOW_ON_EACH_DATABASE + (SLOW_ON_POSTGRESQL if on_postgresql else ())
    for item in items:
        if mark := item.get_closest_marker("sqlite" if on_postgresql else "postgresql"):
            item.add_marker(pytest.mark.skip(reason=f"{ELSEWHERE}: {mark.args[0]}"))
        place = item.path.relative_to(Path(__file__).parent).as_posix()
        if place.startswith(once + depend_on_database):
            item.add_marker("slow")
        if place.startswith(depend_on_database) and not place.startswith(once):
            item.add_marker("each_database")
    if config.option.markexpr == "not slow" and config.option.xmlpath:  # each worker of xdist collects all tests
        left = sum(item.get_closest_marker("slow") is not None for item in items)
        report = Path(config.option.xmlpath).with_suffix(".left")
        report.parent.mkdir(parents=True, exist_ok=True)  # pytest makes it too, but only at the end
        report.write_text(f"left to make test-slow: {left:,} tests\n")


ELSEWHERE = "only on the other database"


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count the tests of the other database, which `-ra` would list among those that miss a program."""
    if report.skipped and ELSEWHERE in str(report.longrepr):
        return ELSEWHERE, "s", ELSEWHERE
    return None


FOLDERS = pytest.StashKey[dict[Path, pytest.Collector]]()


@pytest.hookimpl(wrapper=True)
def pytest_collect_directory(
    path: Path, parent: pytest.Collector
) -> Generator[None, pytest.Collector, pytest.Collector]:
    """Keep the first node of a folder, which alone gets the fixtures of its `conftest.py` (pytest 9.1).

    Files are given in any order: after `tests/x/a.py tests/b.py`, pytest would make another node for `tests/x/c.py`.
    """
    return parent.session.stash.setdefault(FOLDERS, {}).setdefault(path, (yield))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from what is loaded: walking it again and again takes a tenth of a run."""
    gc.collect()
    gc.freeze()


TransactionTestCase._fixture_teardown = empty_tables  # type: ignore[attr-defined]
client.WSGIRequest = DjangoRequest  # type: ignore[attr-defined]  # its requests are those that the service reads


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Let SQLite work in a file, as it does in a shop: in memory its threads do not wait for each other.

    PostgreSQL gives tests more time than requests have, for a busy machine, and ends what was cut off meanwhile.

    `PETSTORE_TEST_DATABASE` names a migrated file to start from (`make -C lab mutants`, which starts a thousand times).
    """
    if connection.vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        if template := os.environ.get("PETSTORE_TEST_DATABASE"):
            shutil.copy(template, file)
        connection.settings_dict["TEST"]["NAME"] = str(file)
        connection.settings_dict["OPTIONS"]["init_command"] += "; PRAGMA synchronous=OFF"
    else:
        connection.settings_dict["OPTIONS"]["options"] += (
            " -c idle_in_transaction_session_timeout=60s -c statement_timeout=30s -c client_connection_check_interval=1s"
        )


@pytest.fixture(autouse=True)
def _nothing_left_over(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(health, "SECONDS", 60)  # nothing takes that long, even on a busy machine
    settings.API_KEY_USE_FLUSH_SECONDS = None
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is slow on purpose
    settings.WHITENOISE_AUTOREFRESH = True  # or every client would look up every static file first
    monkeypatch.setattr(lookup._cache, "_clock", lambda: 0.0)  # a key is looked up once, however long a test takes
    today()  # a test has one day
    lookup.clear()
    usage.clear()
    records.clear()
    build_limiter.cache_clear()
    limits_breaker.succeed()
    reset_commit_state()
    cache.clear()
    end_request()
    yield
    lookup.clear()
    database_breaker.succeed()  # or the test database could not be dropped for a second


@receiver(setting_changed)
def _forget_pages(setting: str, **_: Any) -> None:
    if setting in {"API_KEY_PREFIX", "PETSTORE_ENVIRONMENT"}:
        portal._rendered.cache_clear()
        portal._search_index.cache_clear()


class ApiClient:
    """Django's test client with the key in the header; an exception in a view becomes a response, as for a client."""

    def __init__(self, key: str | None) -> None:
        """Send `key`, or no header if it is None."""
        self.client = Client(raise_request_exception=False)
        self.key = key

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send one request; `body` is JSON for what is not bytes; `headers` with _ for -."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key is not None:
            sent.setdefault("Authorization", f"Bearer {self.key}")
        content_type = sent.pop("Content-Type", "application/json" if body is not None else "")
        data = body if isinstance(body, bytes) else json_bytes(body)
        return self.client.generic(method, path, data, content_type, headers=sent)

    def get(self, path: str, **headers: str) -> Any:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self("POST", path, body, **headers)


def json_bytes(body: Any) -> bytes:
    return b"" if body is None else json.dumps(body).encode()


@pytest.fixture(name="today")
def one_day() -> date:
    """The day in UTC, until the test ends."""
    return today()


@pytest.fixture
def key(db: None) -> str:
    """A key with scope write."""
    return APIKey.objects.issue(name="Test")[1]


@pytest.fixture
def api(key: str) -> ApiClient:
    return ApiClient(key)


@pytest.fixture
def stranger(db: None) -> ApiClient:
    return ApiClient(None)


@pytest.fixture
def reader(db: None) -> ApiClient:
    return ApiClient(APIKey.objects.issue(name="Reader", scope="read")[1])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> metrics.Metrics:
    """The metrics of a worker that counts."""
    counted = metrics.Metrics()
    monkeypatch.setattr(metrics, "metrics", counted)
    metrics.count_failures()
    return counted


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of a migrated database for a service that runs in processes of its own."""
    with migrated_database() as url:
        yield url


@pytest.fixture
def staff(db: None) -> Client:
    """A browser in which a superuser called keeper is signed in."""
    return member("keeper", superuser=True)


@pytest.fixture
def category(db: None) -> Category:
    return CategoryFactory(name="Dogs")


def error(code: str, message: str, status: int) -> dict[str, Any]:
    """Return the whole body of an Error."""
    return {"code": code, "message": message, "status": status}
