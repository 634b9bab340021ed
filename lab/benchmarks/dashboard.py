"""Measure the first page of the back office with a million animals, all imported today.

    python -m lab.benchmarks.dashboard                                     on SQLite
    python tests/with_postgresql.py python -m lab.benchmarks.dashboard     on PostgreSQL

Takes about a minute, in process and without the network. Needs an empty database.
"""

import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from lab.benchmarks.animals import write_animals

RESULTS = Path(__file__).parent / "results"
ANIMALS = 1_000_000
VISITS = 50
WRITES = 2_000
KEYS, DAYS = 50, 400


def main() -> None:
    """Fill the database, measure, print the table and write it to results/."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/dashboard.sqlite3")
        os.environ |= {"DJANGO_SETTINGS_MODULE": "petstore_site.settings", "LOG_LEVEL": "ERROR"}
        import django

        django.setup()
        from django.db import connection

        prepare(Path(folder))
        head = f"The dashboard at {ANIMALS:,} animals, all imported today ({connection.vendor}, Python"
        lines = [
            f"{head} {platform.python_version()}).",
            f"Its use of keys: {KEYS} keys, {DAYS} days. {VISITS} visits each; milliseconds, in process.",
            f"CPU: of this process. The machine had {os.cpu_count()} cores and a load of {os.getloadavg()[0]:.1f}.\n",
            f"{'page':<44} {'median':>8} {'p95':>8} {'most':>8} {'CPU':>8}",
            row("/admin/, everything", visit(client())),
        ]
        write_some()
        lines.append(row(f"/admin/, {WRITES:,} single writes later", visit(client())))
        recount()
        lines += [
            row("/admin/, after recount_stock", visit(client())),
            row("recount_stock", [taken(recount) for _ in range(3)]),
            row("a plain count by category and status", [taken(count) for _ in range(5)]),
        ]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (RESULTS / f"dashboard-{connection.vendor}.txt").write_text(text, encoding="utf-8")


def prepare(folder: Path) -> None:
    """Import the animals, and create keys with use and a staff user."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.utils import timezone
    from petstore_site.apikeys.models import APIKey, KeyUsage, Use

    call_command("migrate", verbosity=0)
    file = folder / "animals.csv"
    write_animals(file, ANIMALS)
    call_command("import_pets", str(file), "--create-categories", verbosity=0)
    User.objects.create_superuser("benchmark")
    today = timezone.now().date()
    for number in range(KEYS):
        key, _ = APIKey.objects.issue(name=f"Key {number}", expires_at=timezone.now() + timedelta(days=number + 1))
        KeyUsage.objects.add_all(
            (Use(key.pk, today - timedelta(days=day), route, kind), 1000)
            for day in range(DAYS)
            for route in ("pet-list", "pet-detail")
            for kind in (2, 4)
        )


def client() -> Callable[[], object]:
    """Return a function that visits the page as an administrator, and exits if it is not a 200."""
    from django.contrib.auth.models import User
    from django.test import Client

    office = Client(headers={"Host": "localhost"})
    office.force_login(User.objects.get())

    def get() -> None:
        if office.get("/admin/").status_code != 200:
            sys.exit("The page was not a 200.")

    return get


class Taken(NamedTuple):
    """Milliseconds of clock time and of CPU time."""

    clock: float
    cpu: float


def visit(get: Callable[[], object]) -> list[Taken]:
    """Return the time of each visit except the first."""
    get()
    return [taken(get) for _ in range(VISITS)]


def write_some() -> None:
    """Add animals one by one, as the API does."""
    from categories.models import Category
    from pets.models import Pet

    category = Category.objects.all()[0]

    for _ in range(WRITES):
        Pet.objects.create(name="Rex", category=category)


def recount() -> None:
    """Recount the stock. Exit if the stored figures were wrong."""
    from pets import stock

    if stock.recount():
        sys.exit("The stored figures were wrong.")


def count() -> None:
    """Count as the page would without stored figures."""
    from django.db.models import Count
    from pets.models import Pet

    list(Pet.objects.values("category", "status").annotate(Count("pk")))


def taken(work: Callable[[], object]) -> Taken:
    """Return the time that `work` takes."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return Taken((time.perf_counter() - clock) * 1000, (time.process_time() - cpu) * 1000)


def row(name: str, times: list[Taken]) -> str:
    """Return a line of the table."""
    clock = sorted(each.clock for each in times)
    nearly_all = clock[int(len(clock) * 0.95) - 1]
    cpu = statistics.median(each.cpu for each in times)
    return f"{name:<44} {statistics.median(clock):>8.1f} {nearly_all:>8.1f} {clock[-1]:>8.1f} {cpu:>8.1f}"


if __name__ == "__main__":
    main()
