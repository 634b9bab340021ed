"""Test the description and a service against each other, for as long as you like; `make -C lab fuzz` starts it.

`python -m lab.fuzz --cases 100000` starts a service of its own; `--base http://127.0.0.1:8000/v1 --key KEY`
tests a running one. schemathesis sends every limit of the description over HTTP, then random requests and walks along
links, then bytes that are hardly HTTP. No one else can write to that store meanwhile: the script also counts whether
anything but a 201 added an animal.
"""

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import requests
import schemathesis
from hypothesis import Phase, settings
from schemathesis import HookContext
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.schemas import BaseSchema
from tests.contract.generator import CHECKS, AnyCase, Page, ask, configuration, teach
from tests.server import running_server

from lab import raw

RAW_SHARE = 20
"""One request in so many is raw bytes."""

EXAMPLES = 1000
"""Random requests for each operation before schemathesis starts again with another seed."""

REQUEST_LINE = 3900
"""Bytes of a request line that a case may fill; gunicorn takes 4094, with method, path and version."""

SHOWN = 20
"""Failures that are printed whole."""


class Request(NamedTuple):
    """What the table counts by."""

    operation: str
    method: str
    status: str


@dataclass
class Tally:
    """The requests and responses, and every distinct failure with its number and first instance."""

    requests: Counter[Request] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    instances: dict[str, str] = field(default_factory=dict)
    added: int = 0
    broken: bool = False

    def hear(self, event: events.EngineEvent) -> None:
        """Count an event of schemathesis's engine."""
        if isinstance(event, events.ScenarioFinished):
            self.take(event.recorder)
        elif isinstance(event, events.NonFatalError):
            self.fail(f"{event.label}: schemathesis could not go on", str(event.value))
            self.broken = True
        elif isinstance(event, events.FatalError):
            raise event.exception

    def fail(self, kind: str, instance: str) -> None:
        self.failures[kind] += 1
        self.instances.setdefault(kind, instance)

    def take(self, recorder: ScenarioRecorder) -> None:
        """Count what happened in one of schemathesis's scenarios."""
        for name, interaction in recorder.interactions.items():
            case, response = recorder.cases[name].value, interaction.response
            status = "none" if response is None else str(response.status_code)
            self.requests[Request(case.operation.label, case.method, status)] += 1
            replayed = response is not None and "idempotency-replayed" in response.headers
            self.added += status == "201" and not replayed
        for name, checks in recorder.checks.items():
            for check in checks:
                if check.status != Status.SUCCESS:
                    label = recorder.cases[name].value.operation.label
                    what = check.failure_info
                    details = (
                        f"{what.failure.title}: {what.failure.message}\n{what.code_sample}" if what else "it crashed"
                    )
                    self.fail(f"{label}: {check.name}", details)

    def take_raw(self, kind: str, request: bytes, verdict: raw.Verdict) -> None:
        """Count one request of raw bytes."""
        self.requests[Request("raw bytes", kind.replace("_", " "), str(verdict.status))] += 1
        self.added += verdict.status == 201
        if verdict.fault:
            self.fail(f"raw bytes: {kind}", f"{verdict.fault}\n{request!r}")

    def report(self) -> Iterator[str]:
        """Yield the lines of the table, then those of the failures."""
        width = max(len(request.operation) for request in self.requests)
        for request, number in sorted(self.requests.items()):
            yield f"{request.operation:{width}}  {request.method:28}  {request.status:15}  {number:8,}"
        yield f"{'requests':{width + 47}}  {self.requests.total():8,}"
        yield f"{'failures':{width + 47}}  {self.failures.total():8,}"
        for kind, number in self.failures.most_common(SHOWN):
            yield f"\n{number} times {kind}\n{self.instances[kind]}"


class Service:
    """The running service, as a client sees it."""

    def __init__(self, base: str, key: str) -> None:
        """Take the base address, which ends in /v1, and a key with scope write."""
        self.base = base.removesuffix("/")
        self.key = key
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {key}"

    def page(self, path: str) -> Page:
        """Fetch one page of a list."""
        answer = self.session.get(f"{self.base}{path}", timeout=raw.SECONDS)
        answer.raise_for_status()
        return Page([row["id"] for row in answer.json()], answer.links.get("next", {}).get("url"))

    def newest(self) -> int:
        return self.page("/pets?limit=1").ids[0]

    def added_since(self, newest: int) -> int:
        """Count the animals with a higher id, page by page."""
        number, path = 0, "/pets?limit=100"
        while True:
            page = self.page(path)
            new = sum(pk > newest for pk in page.ids)
            number += new
            if new < len(page.ids) or page.next is None:
                return number
            path = page.next.removeprefix(self.base)

    def target(self) -> raw.Target:
        address = urlsplit(self.base)
        host, port = address.hostname or "", address.port or 80
        return raw.Target(host, port, address.path, self.key, self.page("/categories").ids[0])


def described(service: Service, *, seed: int, workers: int, examples: int, limits: bool) -> BaseSchema:
    """Load the description from the service and give the generator what is in the store.

    `examples` random requests for each operation; `limits` asks for those that every limit of the description gives.
    """
    phases = {
        "examples": {"enabled": False},
        "coverage": {"enabled": limits},
        "fuzzing": {"generation": {"max-examples": examples}},
        "stateful": {"generation": {"max-examples": examples // 10 + 1}},
    }
    more = {"continue-on-failure": True, "phases": phases, "seed": seed, "workers": workers}
    config = configuration(base_url=service.base, key=service.key, **more)
    address = urlsplit(service.base)._replace(path="/openapi.json").geturl()
    schema = schemathesis.openapi.from_url(address, config=config)
    teach(schema, ask(service.page))
    schema.hook(filter_case)
    return schema


def filter_case(_context: HookContext, case: AnyCase) -> bool:
    """Leave out what never reaches the service: gunicorn rejects a longer request line itself (tests/protocol)."""
    path = "".join(quote(str(value), safe="") for value in case.path_parameters.values())
    return len(path) + len(urlencode(case.query, doseq=True)) < REQUEST_LINE


def fuzz(service: Service, tally: Tally, *, cases: int, seed: int, workers: int) -> None:
    """Send so many requests, or a few more, one in `RAW_SHARE` as raw bytes."""
    # Hypothesis would spend most of the time on steering towards, keeping and shrinking what it found.
    settings.register_profile("fuzz", phases=[Phase.generate], database=None)
    settings.load_profile("fuzz")
    for check in CHECKS:
        schemathesis.check(check)
    by_schemathesis = cases - cases // RAW_SHARE
    for number in itertools.count():
        missing = by_schemathesis - tally.requests.total()
        if missing <= 0 or tally.broken:
            break
        examples = min(missing // 7 + 1, EXAMPLES)
        schema = described(service, seed=seed + number, workers=workers, examples=examples, limits=number == 0)
        for event in from_schema(schema).execute():
            tally.hear(event)
            progress(tally.requests.total(), cases)
    dice, target = random.Random(seed), service.target()
    for _ in range(cases // RAW_SHARE):
        kind = dice.choice(raw.KINDS)
        request = kind(dice, target)
        tally.take_raw(kind.__name__, request, raw.send(request, target))
        progress(tally.requests.total(), cases)


def progress(number: int, cases: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{number:,} of {cases:,} ")


def main() -> int:
    """Run what the command line asks for and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lab.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="requests to send; at least 1,000")
    parser.add_argument("--base", default="http://127.0.0.1:8000/v1", help="the base address of the service")
    parser.add_argument("--key", help="an API key of it, with scope write; without one, start a new service")
    parser.add_argument("--seed", type=int, default=1, help="another one, other cases")
    parser.add_argument("--workers", type=int, default=1, help="so many requests at the same time")
    given = parser.parse_args()
    if given.key:
        return judge(Service(given.base, given.key), given)
    with running_server() as server:
        server.manage("load_demo_data")
        key = server.issue_key("Fuzzer")
        return judge(Service(f"{server.url}/v1", key), given)


def judge(service: Service, given: argparse.Namespace) -> int:
    """Send the requests, print the report and return the exit status."""
    tally, started, newest = Tally(), time.monotonic(), service.newest()
    fuzz(service, tally, cases=given.cases, seed=given.seed, workers=given.workers)
    if (grown := service.added_since(newest)) != tally.added:
        tally.fail("a rejected request added something", f"{tally.added} responses of 201, {grown} new animals")
    sys.stdout.write("\n".join(tally.report()) + f"\n{time.monotonic() - started:.0f} s, seed {given.seed}\n")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
