"""The service before the cluster of the trial."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from lab.trial.cluster import FILES, Cluster
from lab.trial.programs import Program, free_port, send, wait_until

ROOT = FILES.parents[1]
GUNICORN = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "deploy" / "gunicorn.conf.py")]


class Service(NamedTuple):
    """A running gunicorn, and a key for it."""

    port: int
    key: str


@contextlib.contextmanager
def running_service(cluster: Cluster) -> Iterator[Service]:
    """Migrate the database through HAProxy, and run the service for the block."""
    port = free_port()
    environment = databases(cluster) | {"PATH": os.environ["PATH"], "PORT": str(port), "WEB_CONCURRENCY": "2"}
    manage = [sys.executable, str(ROOT / "manage.py")]
    subprocess.run([*manage, "migrate", "--verbosity=0"], env=environment, check=True)
    subprocess.run([*manage, "load_demo_data"], env=environment, stdout=subprocess.DEVNULL, check=True)
    issue = [*manage, "issue_api_key", "Trial", "--secret-only"]
    key = subprocess.run(issue, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    gunicorn = Program(cluster.folder, "gunicorn", GUNICORN, environment, None)
    gunicorn.start()
    try:
        wait_until(lambda: send(port, "GET", "/readyz")[0] == 200)
        yield Service(port, key)
    finally:
        gunicorn.stop()


def databases(cluster: Cluster) -> dict[str, str]:
    """Return the setting with which the service finds the primary through HAProxy."""
    return {"DATABASE_URL": f"postgres://petstore:PASSWORD@127.0.0.1:{cluster.port}/petstore"}
