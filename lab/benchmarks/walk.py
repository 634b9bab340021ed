"""Walk every page of a million animals, and compare the first pages with the last.

    python -m lab.benchmarks.walk                                     on SQLite
    python tests/with_postgresql.py python -m lab.benchmarks.walk     on PostgreSQL

Takes some minutes. Needs an empty database.
"""

import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from django.test import Client

RESULTS = Path(__file__).parent / "results"
ANIMALS = 1_000_000
COMPARED = 200
"""The number of pages at either end whose medians are compared."""

FILL = """
    INSERT INTO pets_pet (id, name, category_id, status, created_at, updated_at)
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {animals})
    SELECT n, 'Animal ' || n, CASE WHEN n % 10 = 3 THEN 2 ELSE 1 END, CASE WHEN n <= {animals} * 4 / 10 THEN 'sold'
    WHEN n % 20 = 0 THEN 'pending' ELSE 'available' END, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP FROM numbers
"""
"""Old animals are sold, as in a shop. So the newest page of `sold` is far from the newest animal.

Category 1 has nine of ten animals, category 2 the others, of which none is pending, and category 3 none.
"""

QUERIES = (
    "",
    "status=available",
    "status=pending",
    "status=sold",
    "categoryId=1",
    "categoryId=2",
    "categoryId=3",
    "categoryId=1&status=sold",
    "categoryId=2&status=sold",
    "categoryId=2&status=pending",
)


def main() -> None:
    """Fill the database, walk each list, print the table and write it to results/."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/walk.sqlite3")
        os.environ |= {"DJANGO_SETTINGS_MODULE": "petstore_site.settings", "LOG_LEVEL": "ERROR"}
        import django

        django.setup()
        vendor, client = prepare()
        lines = [table_head(vendor)]
        for query in QUERIES:
            lines.append(measure(query, client))
            print(lines[-1], file=sys.stderr)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (RESULTS / f"walk-{vendor}.txt").write_text(text, encoding="utf-8")


def prepare() -> tuple[str, "Client"]:
    """Create the catalogue. Return the name of the database and a client with a key."""
    from categories.models import Category
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from petstore_site.apikeys.models import APIKey

    call_command("migrate", verbosity=0)
    Category.objects.bulk_create(Category(pk=pk, name=f"Category {pk}") for pk in (1, 2, 3))
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(animals=ANIMALS))
        cursor.execute("ANALYZE")
    key = APIKey.objects.issue(name="Benchmark")[1]
    return connection.vendor, Client(headers={"Authorization": f"Bearer {key}", "Host": "localhost"})


def measure(query: str, client: "Client") -> str:
    """Walk the list to its end and return a row of the table. Exit if an animal is missing or repeated."""
    from pets.models import Pet

    filters = {name.replace("Id", "_id"): value for name, value in parse_qsl(query)}
    wanted = Pet.objects.filter(**filters).order_by("-pk")
    seen: list[int] = []
    seconds: list[float] = []
    path = f"/v1/pets?limit=100&{query}"
    client.get(path)  # the first plans the statement
    for ids, taken in pages(path, client):
        seen += ids
        seconds.append(taken)
    if seen != list(wanted.values_list("pk", flat=True).iterator()):
        sys.exit(f"The list {query or 'all'} did not have each animal exactly once, newest first.")
    first, last = (statistics.median(part) * 1000 for part in (seconds[:COMPARED], seconds[-COMPARED:]))
    return f"{query or 'all':<27} {len(seen):>9} {len(seconds):>7} {first:>9.2f} {last:>8.2f} {last / first:>7.2f}"


def pages(path: str, client: "Client") -> Iterator[tuple[list[int], float]]:
    """Yield the IDs and the seconds of each page, following `next` as a client does."""
    following: str | None = path
    while following:
        started = time.perf_counter()
        response = client.get(following)
        taken = time.perf_counter() - started
        if response.status_code != 200:
            sys.exit(f"{following}: {response.status_code} {response.content.decode()}")
        yield [pet["id"] for pet in response.json()], taken
        link = re.fullmatch(r'<https?://[^/]+(.+)>; rel="next"', response.get("Link", ""))
        following = link[1] if link else None


def table_head(vendor: str) -> str:
    """Return what was measured, and on which database."""
    return (
        f"Walk of {ANIMALS:,} animals, 100 a page, in process, each seen exactly once ({vendor}, Python "
        f"{platform.python_version()}).\nMedian milliseconds of the first and the last {COMPARED} pages.\n\n"
        f"{'list':<27} {'animals':>9} {'pages':>7} {'first ms':>9} {'last ms':>8} {'ratio':>7}"
    )


if __name__ == "__main__":
    main()
