"""Send requests to a server on loopback as fast as it responds, from one process that does little else."""

import statistics
import time
from collections.abc import Callable, Iterable
from itertools import cycle
from typing import NamedTuple

from tests.flood import responses


class Figures(NamedTuple):
    """What one run showed. CPU is in µs per request, `p50` and `p99` are in ms."""

    requests_per_second: float
    server_cpu: float
    database_cpu: float
    p50: float | None
    p99: float | None
    errors: int
    """Responses with another status, and connections that ended without a response."""

    @property
    def cpu(self) -> float:
        """CPU of the server and the database."""
        return self.server_cpu + self.database_cpu


def measure(
    port: int,
    requests: Iterable[bytes],
    *,
    status: int,
    connections: int,
    seconds: float,
    cpu: Callable[[], tuple[float, float]],
) -> Figures:
    """Warm up, then measure. `cpu` returns the CPU seconds of the server and the database so far."""
    _send(port, requests, status=status, connections=connections, seconds=seconds / 4)
    before, began = cpu(), time.perf_counter()
    latencies, errors = _send(port, requests, status=status, connections=connections, seconds=seconds)
    taken, after = time.perf_counter() - began, cpu()
    server, database = ((now - then) * 1e6 / len(latencies) for now, then in zip(after, before, strict=True))
    p50, p99 = (round(figure * 1000, 2) for figure in percentiles(latencies))
    return Figures(round(len(latencies) / taken), round(server, 1), round(database, 1), p50, p99, errors)


def percentiles(values: list[float]) -> tuple[float, float]:
    """Return p50 and p99."""
    return statistics.median(values), statistics.quantiles(values, n=100, method="inclusive")[98]


def _send(
    port: int, requests: Iterable[bytes], *, status: int, connections: int, seconds: float
) -> tuple[list[float], int]:
    """Return the seconds of each response, and the number of errors."""
    latencies, errors = list[float](), 0
    end = time.perf_counter() + seconds
    seen = responses(port, cycle(requests), connections=connections, going=lambda: time.perf_counter() < end)
    for client, received in seen:
        latencies.append(time.perf_counter() - client.began)
        errors += received != status
    return latencies, errors
