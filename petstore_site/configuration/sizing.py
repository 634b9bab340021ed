"""How much room the service needs, by its settings: arithmetic, with the figures that we measured."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings

from petstore_site.configuration.variables import env as environment_variables

WORKER_MB = 130
"""Of a worker: 102 after a million requests (lab/performance.md), and room for an export or an upload."""
MASTER_MB = 60
"""Of gunicorn's master and the process of the metrics."""
RESERVED = 20
"""Connections for commands, backups and monitoring."""
CONNECTION_MB = 8
"""Of the database for each connection: an estimate for its process, its plans and a sort."""
SHARED_MB = 1024
"""Of the database beside connections: an estimate for `shared_buffers` and the system, with a million animals."""


class Sizes(NamedTuple):
    """What so many instances need together, but for the first three: those are what was asked about."""

    instances: int
    workers: int
    threads: int
    connections: int
    """To PostgreSQL, while everything is in use."""
    max_connections: int
    """Of PostgreSQL: one instance after the other is reloaded, with twice as many workers meanwhile."""
    service_mb: int
    """Memory of each instance, while it is reloaded."""
    service_cores: int
    database_mb: int
    database_cores: int


def pools(threads: int) -> dict[str, int]:
    """Return the most connections to PostgreSQL of each pool of a worker."""
    return {
        "threads": threads,
        "reads": 2 * threads,
        "writes": max(1, threads - 1),
        "keys": 2,
        "background": 1,  # what saves the use of keys and the records of requests
    }


def configured(instances: int) -> tuple[Sizes, dict[str, int]]:
    """Return what so many instances with these settings need, and the pools of each worker."""
    env = environment_variables()
    workers = env["WEB_CONCURRENCY"] or os.cpu_count() or 1
    env.exit_on_mistakes()
    shares = pools(settings.THREADS)
    return sizes(instances, workers, shares), shares


def sizes(instances: int, workers: int, shares: Mapping[str, int]) -> Sizes:
    """Return what so many instances need, whose workers have these pools."""
    of_worker = sum(shares.values())
    connections = instances * workers * of_worker
    most = connections + workers * of_worker + RESERVED
    return Sizes(
        instances=instances,
        workers=workers,
        threads=shares["threads"],
        connections=connections,
        max_connections=most,
        service_mb=MASTER_MB + 2 * workers * WORKER_MB,
        service_cores=instances * workers,
        database_mb=SHARED_MB + most * CONNECTION_MB,
        database_cores=max(1, -(-instances * workers // 2)),
    )
