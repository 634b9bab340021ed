"""Measure lists while the only worker renders slow pages of the back office."""

import http.client
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.benchmarks.load import Figures, percentiles
from lab.benchmarks.processes import manage, run
from lab.benchmarks.servers import SECRET_KEY, Server, fill, issue_key, running, service
from lab.benchmarks.serving import Sample, after, client, samples
from lab.benchmarks.stores import PostgreSQL

PATH = "/admin/slow/"
PAGES = 4
"""How many pages are made at once."""
SECONDS = 20
SIGN_IN = """
from django.contrib.auth import get_user_model
from django.test import Client
client = Client(headers={"Host": "127.0.0.1"})
client.force_login(get_user_model().objects.create(username="keeper", is_staff=True, is_superuser=True))
print("session", client.cookies["sessionid"].value)
"""


def measure(store: PostgreSQL, folder: Path, *, rows: int) -> dict[str, dict[str, list[Figures]]]:
    """Return the figures of lists alone, of lists while `PAGES` pages are made, and of these pages."""
    fill(store, ("pets_pet",), 1, rows, rows=rows)
    key = issue_key(store)
    printed = run(*manage("shell", "-c", SIGN_IN), environment=store.environment | {"SECRET_KEY": SECRET_KEY}).output
    cookie = re.findall(r"session (\S+)", printed)[-1]
    slow = service(store, DJANGO_SETTINGS_MODULE="lab.benchmarks.slow_settings")
    with running(slow, folder, processes=1) as server, ThreadPoolExecutor() as threads:
        ask = client(server.port, key)
        samples(ask, after(2))
        alone = samples(ask, after(SECONDS))
        end = after(SECONDS + 2)
        pages = [threads.submit(lambda: list(_make_pages(server, cookie, end))) for _ in range(PAGES)]
        time.sleep(1)
        meanwhile = samples(ask, after(SECONDS))
        made = [seconds for page in pages for seconds in page.result()]
    lists = {"lists, no pages": alone, f"lists, while {PAGES} pages": meanwhile}
    figures = {name: [_figures(found)] for name, found in lists.items()}
    return {"pages at once": figures | {"the pages": [_figures_of(made, errors=0)]}}


def _make_pages(server: Server, cookie: str, is_over: Callable[[], bool]) -> Iterator[float]:
    """Request slow pages until `is_over`, and yield the seconds that each took."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    while not is_over():
        began = time.perf_counter()
        connection.request("GET", PATH, headers={"Cookie": f"sessionid={cookie}"})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise http.client.HTTPException(response.status)
        yield time.perf_counter() - began


def _figures(found: Sequence[Sample]) -> Figures:
    """Return the figures, with times from when a request was due."""
    return _figures_of([each.late + each.seconds for each in found], errors=sum(each.status != 200 for each in found))


def _figures_of(seconds: list[float], *, errors: int) -> Figures:
    p50, p99 = (round(figure * 1000, 2) for figure in percentiles(seconds))
    return Figures(round(len(seconds) / SECONDS, 1), 0, 0, p50, p99, errors)
