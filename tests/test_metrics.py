"""The metrics a worker counts, and that nothing is counted unless METRICS_PORT asks for it."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.dispatch import Signal
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from database import errors as signals
from petstore_site.serving import metrics
from rest.limits import limiter_failed
from tests.conftest import ApiClient

ROOT = Path(__file__).parent.parent


def samples(registry: CollectorRegistry) -> dict[tuple[str, ...], float]:
    """Return name and label values → value, without zeros, buckets and creation times."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.value and not sample.name.endswith(("_bucket", "_created"))
    }


def test_request_is_counted_by_method_route_and_status(counted: metrics.Metrics) -> None:
    metrics.observe_request(method="GET", route="pet-list", status=200, seconds=0.25)
    metrics.observe_request(method="GET", route="pet-list", status=200, seconds=0.5)
    metrics.observe_request(method="POST", route="pet-list", status=401, seconds=0.25)
    assert samples(counted.registry) == {
        ("petstore_requests_total", "GET", "pet-list", "200"): 2,
        ("petstore_requests_total", "POST", "pet-list", "401"): 1,
        ("petstore_request_seconds_count", "pet-list"): 3,
        ("petstore_request_seconds_sum", "pet-list"): 1,
    }


def test_unknown_methods_share_one_label(counted: metrics.Metrics) -> None:
    for method in ("BREW", "get", "", 'X"} 1'):
        metrics.observe_request(method=method, route="none", status=405, seconds=0)
    assert samples(counted.registry)["petstore_requests_total", "other", "none", "405"] == 4


def test_defects_are_counted_from_zero() -> None:
    """Prometheus would take the first for the beginning, and `increase` would be 0."""
    registry = metrics.Metrics().registry
    assert registry.get_sample_value("petstore_defects_total", {"kind": "rejected_data"}) == 0


def test_defect_is_counted_by_kind(counted: metrics.Metrics) -> None:
    signals.data_rejected.send(sender=None)
    assert samples(counted.registry) == {("petstore_defects_total", "rejected_data"): 1}


@pytest.mark.parametrize(
    ("failed", "name"),
    [
        (limiter_failed, "petstore_limiter_failures_total"),
        (signals.commit_in_doubt, "petstore_commits_in_doubt_total"),
    ],
)
def test_failures_that_the_libraries_report_are_counted(counted: metrics.Metrics, failed: Signal, name: str) -> None:
    failed.send(sender=None)
    assert counted.registry.get_sample_value(name) == 1


def test_a_lost_cache_is_counted(counted: metrics.Metrics, api: ApiClient, settings: Any) -> None:
    settings.RATE_LIMIT = "1/day"
    settings.CACHE_URL = "redis://127.0.0.1:1/0"
    api.get("/v1/pets")
    assert counted.registry.get_sample_value("petstore_limiter_failures_total") == 1


def test_nothing_is_counted_by_default() -> None:
    assert metrics.metrics is None
    metrics.observe_request(method="GET", route="pet-list", status=200, seconds=0)
    metrics.count_failures()
    signals.data_rejected.send(sender=None)


def count_in_slot(slot: int, folder: Path) -> None:
    """Count one request in a worker of its own."""
    code = f"""
from petstore_site.serving import metrics
metrics.slot = {slot}
metrics.observe_request(method="GET", route="livez", status=200, seconds=0.5)
"""
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_next_worker_in_a_slot_goes_on_counting_in_the_same_files(tmp_path: Path) -> None:
    for slot in (1, 2, 1):
        count_in_slot(slot, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "counter_0.db",  # from before the worker had its number
        "counter_1.db",
        "counter_2.db",
        "gauge_livesum_0.db",
        "gauge_livesum_1.db",
        "gauge_livesum_2.db",
        "gauge_mostrecent_0.db",
        "gauge_mostrecent_1.db",
        "gauge_mostrecent_2.db",
        "histogram_1.db",
        "histogram_2.db",
    ]
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(tmp_path))  # type: ignore[no-untyped-call]
    assert samples(registry) == {
        ("petstore_requests_total", "GET", "livez", "200"): 3,
        ("petstore_request_seconds_count", "livez"): 3,
        ("petstore_request_seconds_sum", "livez"): 1.5,
    }


def test_serving_waits_for_an_address_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert metrics._listen("127.0.0.1", taken.getsockname()[1], CollectorRegistry()) is False


def test_serving_ends_with_the_process_that_started_it_and_removes_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    metrics.serve("127.0.0.1", 1, parent=0)
    assert not tmp_path.exists()
