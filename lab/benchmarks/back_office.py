"""Measure the pages of the back office with a million animals and their history.

    python -m lab.benchmarks.back_office                                     on SQLite
    python tests/with_postgresql.py python -m lab.benchmarks.back_office     on PostgreSQL

Takes some minutes. Needs an empty database, which it fills; `--animals` takes fewer. Each page is requested in process
by a staff user. The result is the median time, the part of it that the database took, the processor time of this
process (on SQLite with the database's), and how many statements were executed.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lab.benchmarks.animals import NAMES

RESULTS = Path(__file__).parent / "results"
ROUNDS = 7
CATEGORIES = 300
DELETED = 10_000

NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {animals})"
NAME = "CASE n % {count} " + " ".join(f"WHEN {i} THEN '{name}'" for i, name in enumerate(NAMES)) + " END || ' ' || n"
STATUS = "CASE WHEN n <= {animals} * 4 / 10 THEN 'sold' WHEN n % 20 = 0 THEN 'pending' ELSE 'available' END"
"""Old animals are sold, as in a shop. So the newest page of `sold` is far from the newest animal."""

ADDED = {
    "postgresql": "now() - ({animals} - n) * interval '31 seconds'",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%S', 'now', '-' || (({animals} - n) * 31) || ' seconds')",
}
"""Animals were added evenly over a year."""

FILL_CATEGORIES = """
    INSERT INTO categories_category (id, name, created_at, updated_at)
    {numbers} SELECT n, 'Kind ' || n, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM numbers WHERE n <= {categories}
"""
FILL_ANIMALS = """
    INSERT INTO pets_pet (id, name, category_id, status, external_reference, created_at, updated_at)
    {numbers} SELECT n, {name}, 1 + n % {categories}, {status}, 'A-' || (1000000000 + n), {added}, {added} FROM numbers
"""
FILL_HISTORY = """
    INSERT INTO pets_petchange (id, name, category_id, status, external_reference,
        history_date, history_type, actor, request_id, bulk_change_id, import_line)
    SELECT id, name, category_id, status, external_reference, created_at, '+',
        CASE WHEN id <= {animals} * 3 / 10 THEN 'import 1' ELSE 'key Ab3dE6gH' END, '',
        {imported}, id FROM pets_pet ORDER BY id
"""
IMPORTED = "CASE WHEN id <= {animals} * 3 / 10 THEN 1 WHEN id % 700 = 0 THEN 2 END"
"""The number of the change of an import."""

FILL_DELETIONS = """
    INSERT INTO pets_petchange (id, name, category_id, status, external_reference,
        history_date, history_type, actor, request_id)
    SELECT {animals} + id, 'Gone ' || id, category_id, status, NULL, created_at, '-', 'staff anna', '' FROM pets_pet
    WHERE id <= {deleted}
"""

Page = Callable[[Any], Any]


def main() -> None:
    """Fill the database, measure each page, print the table and write it to results/."""
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.back_office")
    parser.add_argument("--animals", type=int, default=1_000_000, help="Set the number of animals (default: 1000000).")
    animals = parser.parse_args().animals
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/back-office.sqlite3")
        os.environ |= {"DJANGO_SETTINGS_MODULE": "petstore_site.settings", "LOG_LEVEL": "ERROR"}
        import django

        django.setup()
        vendor = prepare(animals)
        result = {
            "database": vendor,
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load_average": round(os.getloadavg()[0], 1),
            "animals": animals,
            "rounds": ROUNDS,
            "milliseconds": {name: measure(name, page) for name, page in pages(animals).items()},
        }
    (RESULTS / f"back-office-{vendor}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def prepare(animals: int) -> str:
    """Create the catalogue and its history. Return the name of the database."""
    from changes.models import Change
    from django.core.management import call_command
    from django.db import connection
    from pets import stock
    from pets.models import ImportRun

    call_command("migrate", verbosity=0)
    for name, added in (("autumn.csv", animals * 3 // 10), ("friday.csv", animals // 700)):
        change = Change.objects.create(kind="import", who="staff anna", what=name, column="", added=added)
        done = {"state": "done", "options": {}, "rows": added, "created": added}
        ImportRun.objects.create(change=change, who="staff anna", file_name=name, sha256="0" * 64, **done)
    values = {
        "animals": animals,
        "categories": CATEGORIES,
        "deleted": min(DELETED, animals),
        "imported": IMPORTED.format(animals=animals),
        "numbers": NUMBERS.format(animals=animals),
        "name": NAME.format(count=len(NAMES)),
        "status": STATUS.format(animals=animals),
        "added": ADDED[connection.vendor].format(animals=animals),
    }
    with connection.cursor() as cursor:
        for statement in (FILL_CATEGORIES, FILL_ANIMALS, FILL_HISTORY, FILL_DELETIONS):
            cursor.execute(statement.format(**values))
        stock.compact()  # as real writes leave it
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    return connection.vendor


def pages(animals: int) -> dict[str, Page]:
    """Return the measurements: a name, and what a signed-in client does."""
    listed = "/admin/pets/pet/"

    def get(address: str) -> Page:
        return lambda client: client.get(address)

    def ask(address: str) -> Page:
        data = {"action": "become_pending", "_selected_action": 1, "select_across": 1, "index": 0}
        return lambda client: client.post(address, data, follow=True)

    return {
        "animals": get(listed),
        "animals, page 200": get(f"{listed}?p=200"),
        "search: common, rex": get(f"{listed}?q=rex"),
        "search: one letter that is common, r": get(f"{listed}?q=r"),
        "search: one letter that nothing begins with, q": get(f"{listed}?q=q"),
        "search: two letters that nothing has, zq": get(f"{listed}?q=zq"),
        "search: nowhere, zzzz": get(f"{listed}?q=zzzz"),
        "search: nowhere, of common parts, rexrex": get(f"{listed}?q=rexrex"),
        "search: once, the oldest, Rex 15": get(f"{listed}?q=Rex+15"),
        "search: part of many references, 123": get(f"{listed}?q=123"),
        "search: one reference": get(f"{listed}?q=A-{1_000_000_000 + animals // 3}"),
        "search: one id": get(f"{listed}?q={animals // 2}"),
        "search: two characters of another script, 小花": get(f"{listed}?q=小花"),
        "search: one character of another script, 花": get(f"{listed}?q=花"),
        "search: two characters in another order, 花小": get(f"{listed}?q=花小"),
        "search: without an accent, senor": get(f"{listed}?q=senor"),
        "search: a decomposed letter, sold": get(f"{listed}?q=e%CC%81&status__exact=sold"),
        "search: a decomposed letter, pending": get(f"{listed}?q=o%CC%88&status__exact=pending"),
        "search: a word with a decomposed letter, sold": get(f"{listed}?q=sen%CC%83or&status__exact=sold"),
        "search: a sign that nothing has, 🐼": get(f"{listed}?q=🐼"),
        "search: common, among the sold, which are old": get(f"{listed}?q=rex&status__exact=sold"),
        "search: nowhere, among the sold": get(f"{listed}?q=zzzz&status__exact=sold"),
        "search: common, in a category": get(f"{listed}?q=rex&category__id__exact=7"),
        "search: common, in a category, sold": get(f"{listed}?q=rex&category__id__exact=7&status__exact=sold"),
        "search: nowhere, in a category, sold": get(f"{listed}?q=zzzz&category__id__exact=7&status__exact=sold"),
        "search: an accent and a number that nothing has, sold": get(f"{listed}?q=señor+1&status__exact=sold"),
        "search: common, added until half the time ago": get(f"{listed}?q=rex&added_to={_old_day(animals)}"),
        "filter: sold, which are old": get(f"{listed}?status__exact=sold"),
        "filter: pending": get(f"{listed}?status__exact=pending"),
        "filter: category": get(f"{listed}?category__id__exact=7"),
        "filter: category and status": get(f"{listed}?category__id__exact=7&status__exact=pending"),
        "filter: added on the newest day": get(f"{listed}?added_from={datetime.now(UTC):%Y-%m-%d}"),
        "filter: added on an old day": get(f"{listed}?added_from={_old_day(animals)}&added_to={_old_day(animals)}"),
        "filter: added until half the time ago": get(f"{listed}?added_to={_old_day(animals)}"),
        "filter: the import of the oldest third": get(f"{listed}?import_run=1"),
        "filter: an import of 1,000": get(f"{listed}?import_run=2"),
        "an animal": get(f"{listed}{animals // 2}/change/"),
        "history of an animal": get(f"{listed}{animals // 2}/history/"),
        "a deleted animal": get(f"{listed}{animals + 1}/change/"),
        "activity": get("/admin/activity/"),
        "activity: bulk changes": get("/admin/activity/?kind=bulk+change"),
        "activity: imports": get("/admin/activity/?kind=import"),
        "activity: deletions": get("/admin/activity/?kind=deletion"),
        "activity: a name that nothing has, zzzz": get("/admin/activity/?q=zzzz"),
        "activity: one animal": get(f"/admin/activity/?animal={animals // 2}"),
        "activity: of one key": get("/admin/activity/?who=key+Ab3dE6gH"),
        "a change of 1,000": get("/admin/activity/2/"),
        "a change of the oldest third": get("/admin/activity/1/"),
        "undo of 1,000: the preview": get("/admin/activity/2/undo/"),
        "undo of the oldest third: the preview": get("/admin/activity/1/undo/"),
        "imports: send a file": get("/admin/pets/importrun/add/"),
        "categories": get("/admin/categories/category/"),
        "merge of two categories: the preview": get("/admin/categories/category/merge/?category=7&into=8"),
        "keys": get("/admin/apikeys/apikey/"),
        "usage": get("/admin/apikeys/keyusage/"),
        "requests": get("/admin/request_desk/requestrecord/"),
        "staff": get("/admin/auth/user/"),
        "roles": get("/admin/auth/group/"),
        "search of everything: rex": get("/admin/search/?q=rex"),
        "overview": get("/admin/"),
        "bulk change of 1,000: the preview": ask(f"{listed}?import_run=2"),
        "delete a category in use: the page that says why not": get("/admin/categories/category/7/delete/"),
    }


def _old_day(animals: int) -> str:
    return f"{datetime.now(UTC) - timedelta(seconds=31 * animals / 2):%Y-%m-%d}"


def measure(name: str, page: Page) -> dict[str, float]:
    """Return the medians in milliseconds, and the number of statements. Exit if the page is not a 200."""
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client

    client = Client(headers={"Host": "localhost"})
    client.force_login(get_user_model().objects.get_or_create(username="keeper", is_staff=True, is_superuser=True)[0])
    taken, in_database, processor = [], [], []
    for _ in range(ROUNDS):
        statements: list[float] = []
        with connection.execute_wrapper(_timing(statements)):
            started, used = time.perf_counter(), time.process_time()
            response = page(client)
            taken.append(time.perf_counter() - started)
            processor.append(time.process_time() - used)
        in_database.append(sum(statements))
        if response.status_code != 200:
            sys.exit(f"{name}: {response.status_code}")
    result = {"page": _milliseconds(taken), "database": _milliseconds(in_database), "cpu": _milliseconds(processor)}
    result["statements"] = len(statements)
    print(f"{name:<60}", *(f"{value:>8}" for value in result.values()), flush=True)
    return result


def _timing(statements: list[float]) -> Callable[..., Any]:
    def run(execute: Callable[..., Any], *given: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(*given)
        finally:
            statements.append(time.perf_counter() - started)

    return run


def _milliseconds(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 1)


if __name__ == "__main__":
    main()
