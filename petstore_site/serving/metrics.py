"""Counts requests and defects for Prometheus, by route and never by path, when METRICS_PORT asks for it.

Each worker counts in files of its own, by `slot` in PROMETHEUS_MULTIPROC_DIR. This module, run as a process beside
the workers, adds them up and serves them, so that gunicorn's master has no thread when it forks.
deploy/gunicorn.conf.py starts it and sets the variables.
"""

import errno
import os
import shutil
import sys
import time
from datetime import datetime
from functools import lru_cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server, values
from prometheus_client.multiprocess import MultiProcessCollector

DEFECTS = ("rejected_data",)
GIVEN_UP = ("no_thread", "deadline")
METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"}
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.of_requests = lru_cache(maxsize=1024)(self._of_requests)
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        self.requests = counter("petstore_requests_total", "Requests completed.", ["method", "route", "status"])
        meaning = "Time to respond to a request."
        self.request_seconds = Histogram(
            "petstore_request_seconds", meaning, ["route"], buckets=SECONDS, registry=self.registry
        )
        self.defects = counter("petstore_defects_total", "Things that should never happen.", ["kind"])
        meaning = "Times that rate limits could not be counted."
        self.limiter_failures = counter("petstore_limiter_failures_total", meaning)
        meaning = "Requests that got a 503 from the door: no thread was free in time, or the deadline passed."
        self.given_up = counter("petstore_requests_given_up_total", meaning, ["reason"])
        self.threads_in_use = gauge("petstore_threads_in_use", "Threads that run Django.", multiprocess_mode="livesum")
        meaning = "Requests that wait for a thread."
        self.requests_waiting = gauge("petstore_requests_waiting", meaning, multiprocess_mode="livesum")
        meaning = "Connections to PostgreSQL that could not be opened or did not respond."
        self.connections_failed = counter("petstore_connections_failed_total", meaning)
        self.commits_in_doubt = counter("petstore_commits_in_doubt_total", "Commits that no standby confirmed.")
        meaning = "Since when work of the back office waits for a process, as the last /readyz saw it; 0 if none waits."
        self.work_waits_since = gauge(
            "petstore_work_waits_since_timestamp_seconds", meaning, multiprocess_mode="mostrecent"
        )
        for counts, labels in ((self.defects, DEFECTS), (self.given_up, GIVEN_UP)):
            for label in labels:
                counts.labels(label)  # from 0, or Prometheus would not see the first as an increase

    def _of_requests(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        """Return what counts these requests. Finding them by their labels takes longer than counting."""
        return self.requests.labels(method, route, str(status)), self.request_seconds.labels(route)


slot = 0
"""The worker's number; 0 where the application is loaded, before there is a worker."""


def _metrics() -> Metrics | None:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ or __name__ == "__main__":
        return None
    # Files by slot, not by process: a new worker goes on counting where the one before it stopped,
    # so that there are never more files than workers at one time.
    values.ValueClass = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]
    return Metrics()


metrics = _metrics()


def observe_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Count a completed request of the route called `route`, which took `seconds`."""
    if metrics:
        count, time_taken = metrics.of_requests(method if method in METHODS else "other", route, status)
        count.inc()
        time_taken.observe(seconds)


def count_given_up(reason: str) -> None:
    """Count a request that the door gave up; `reason` is one of `GIVEN_UP`."""
    if metrics:
        metrics.given_up.labels(reason).inc()


def observe_threads(*, in_use: int, waiting: int) -> None:
    """Say how many threads are in use, and how many requests wait for one."""
    if metrics:
        metrics.threads_in_use.set(in_use)
        metrics.requests_waiting.set(waiting)


def count_failures() -> None:
    """From now on, count the failures that signals report, and note since when long work waits."""
    from database import errors  # noqa: PLC0415 - the process that serves the sums needs no Django
    from petstore_site.serving.health import work_seen  # noqa: PLC0415
    from rest.limits import limiter_failed  # noqa: PLC0415

    if metrics:
        for failed, counter in (
            (errors.commit_in_doubt, metrics.commits_in_doubt),
            (errors.connection_failed, metrics.connections_failed),
            (errors.data_rejected, metrics.defects.labels("rejected_data")),
            (limiter_failed, metrics.limiter_failures),
        ):
            failed.connect(partial(_count, counter), weak=False)
        work_seen.connect(partial(_note_work, metrics.work_waits_since), weak=False)


def _count(counter: Counter, **_signal: object) -> None:
    counter.inc()


def _note_work(gauge: Gauge, since: datetime | None, **_signal: object) -> None:
    gauge.set(since.timestamp() if since else 0)


def serve(host: str, port: int, *, parent: int) -> None:
    """Serve the sums on host:port until the process `parent`, which started this one, has ended; then remove the files.

    An address in use is tried again: it belongs to the service before a restart.
    """
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    serving = False
    while os.getppid() == parent:
        serving = serving or _listen(host, port, registry)
        time.sleep(1)
    shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def _listen(host: str, port: int, registry: CollectorRegistry) -> bool:
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), parent=int(sys.argv[3]))
