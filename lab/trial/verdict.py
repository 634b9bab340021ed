"""Say what the trial lost, and whether one order explains what was read."""

import time
from collections import Counter
from typing import NamedTuple

from lab.trial.cluster import Cluster
from lab.trial.readers import Readers, judge_all
from lab.trial.writers import Writers

ALLOWED_SECONDS = 30


class Count(NamedTuple):
    """The names of acknowledged animals that are gone, and of those that are there more than once."""

    lost: list[str]
    doubled: list[str]


def count(cluster: Cluster, writers: Writers) -> Count:
    """Compare what was acknowledged with the database."""
    rows = cluster.query("SELECT name, array_agg(id) FROM pets_pet WHERE name LIKE 'trial %' GROUP BY name")
    stored: dict[str, list[int]] = dict(rows)
    lost = [name for name, number in writers.acknowledged.items() if number not in stored.get(name, [])]
    return Count(lost, [name for name, numbers in stored.items() if len(numbers) > 1])


def report(cluster: Cluster, writers: Writers, seconds: list[float]) -> int:
    """Print what is lost and how long the breaks took, and return the exit status."""
    lost, doubled = count(cluster, writers)
    late = [each for each in seconds if each > ALLOWED_SECONDS]
    unexpected = {status: count for status, count in writers.responses.items() if status not in {201, 409, 503}}
    print(
        f"{len(writers.acknowledged)} animals acknowledged: {len(lost)} lost, {len(doubled)} doubled. "
        f"Responses: {dict(writers.responses)}.\n"
        f"{len(seconds)} breaks: back after {min(seconds, default=0):.1f} to {max(seconds, default=0):.1f} s, "
        f"{len(late)} after more than {ALLOWED_SECONDS} s."
    )
    return 1 if lost or doubled or late or unexpected else 0


def report_reads(cluster: Cluster, writers: Writers, readers: Readers) -> int:
    """Compare what was read with what was added, print it, and return the exit status."""
    stored = dict(cluster.query("SELECT id, name FROM pets_pet"))
    seen = [each for one in readers.seen for each in one]
    verdict = judge_all(seen, writers.additions(), stored, time.monotonic())
    statuses = Counter(each.status for each in seen)
    print(
        f"{len(seen)} reads: {len(verdict.lacking)} lack an "
        f"acknowledged animal, {len(verdict.vanished)} show one that vanished. Responses: {dict(statuses)}.\n"
        f"The slowest took {max(each.received - each.sent for each in seen):.1f} s. "
        + (f"No order explains them: {verdict.order[:9]}." if verdict.order else "One order explains them all.")
    )
    return 0 if verdict.is_good and statuses.keys() <= {200, 404, 503} else 1
