"""Compare the service with what you would write in other frameworks: the same requests, PostgreSQL and data.

    python tests/with_postgresql.py python -m lab.benchmarks.requests [--rounds 5] [--seconds 2] [--rows 1000000]
    python tests/with_postgresql.py python -m lab.benchmarks.requests --rows 10000 1000000 10000000
    python tests/with_postgresql.py python -m lab.benchmarks.requests --pages

or `make -C lab bench BENCH_ARGS=…`. With several `--rows`, it measures only the service, by the size of the catalogue, on
PostgreSQL and SQLite. With `--pages`, it measures lists while a worker renders slow pages of the back office.
DATABASE_URL must name an empty PostgreSQL database on this machine, which must run Linux. lab/performance.md says
what is compared.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from petstore_site.apikeys.keys import generate
from tests.flood import fetch, request
from tests.with_postgresql import find_binaries

from lab.benchmarks import pages
from lab.benchmarks.circumstances import circumstances
from lab.benchmarks.load import Figures, measure
from lab.benchmarks.postmaster import server_cpu
from lab.benchmarks.processes import cpu_seconds
from lab.benchmarks.servers import (
    FASTIFY,
    LEAN,
    OTHER_PEERS,
    SERVICE,
    Server,
    constant,
    create_shop,
    fill,
    issue_key,
    peers,
    running,
    service,
)
from lab.benchmarks.stores import PostgreSQL, SQLite, Store
from lab.benchmarks.summary import tables

RESULTS = Path(__file__).parent / "results"
NEW_PET = b'{"name":"Rex","categoryId":3,"status":"available"}'
TITLES = {
    "requests": "By operation",
    "sizes": "By the size of the catalogue",
    "pages": "While pages of the back office are made",
}
COLUMNS = "id, name, category_id, status"
PGBENCH = {
    "list": f"SELECT {COLUMNS} FROM pets_pet ORDER BY id DESC LIMIT 21;",
    "list by status": f"SELECT {COLUMNS} FROM pets_pet WHERE status >= 'available' AND (status, id) <= ('available', "
    "9223372036854775807) ORDER BY status DESC, id DESC LIMIT 101;",
    "deep page": f"SELECT {COLUMNS} FROM pets_pet WHERE id <= {{rows}} / 2 ORDER BY id DESC LIMIT 21;",
    "get one": f"\\set id random(1, {{rows}})\nSELECT {COLUMNS} FROM pets_pet WHERE id = :id;",
}
"""The statements that the reads need at least."""
PEERS = (*OTHER_PEERS, FASTIFY, LEAN)
PROGRAM = find_binaries() / "pgbench"

Rounds = dict[str, dict[str, list[Figures]]]
"""By operation and server."""


class Asked(NamedTuple):
    """How to measure."""

    rows: int
    rounds: int
    seconds: float
    connections: int

    def __str__(self) -> str:
        return f"{self.rows:,} animals, {self.connections} connections, {self.rounds} rounds of {self.seconds:g} s"


class Operation(NamedTuple):
    """What is requested, and the status that must come back."""

    name: str
    requests: Callable[[Server], Iterable[bytes]]
    status: int = 200
    connections: int | None = None
    left_out: Collection[str] = ()
    """The servers that lack the operation, or respond with another status."""


def main() -> None:
    """Measure, print the tables and write the figures to results/."""
    given = _arguments()
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        sys.exit("DATABASE_URL must name an empty PostgreSQL database. tests/with_postgresql.py creates one.")
    sizes = [Asked(rows, given.rounds, given.seconds, given.connections) for rows in given.rows]
    with tempfile.TemporaryDirectory(prefix="petstore-benchmark-") as name:
        folder, store = Path(name), PostgreSQL(url)
        result = circumstances(store) | {"columns": Figures._fields, "how": "; ".join(map(str, sizes))}
        kept = "pages" if given.pages else "sizes" if len(sizes) > 1 else "requests"
        if kept == "pages":
            figures = pages.measure(store, folder, rows=sizes[0].rows)
        elif kept == "sizes":
            figures = _by_size(store, folder, sizes)
        else:
            figures = _compare(store, folder, sizes[0], given.also, given.peers)
    print("\n".join(tables(figures)))
    text = json.dumps({"title": TITLES[kept]} | result | {"figures": figures}, indent=1)
    text = re.sub(r"\[[^\[\]]+\]", lambda each: " ".join(each[0].split()), text)  # a round on a line
    (RESULTS / f"{kept}.json").write_text(text + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.requests")
    add = parser.add_argument
    add("--rows", type=int, nargs="+", default=[1_000_000], help="Set the numbers of animals (default: 1000000).")
    add("--rounds", type=int, default=5, help="Set how often each is measured (default: 5).")
    add("--seconds", type=float, default=2.0, help="Set how long each measurement takes (default: 2).")
    add("--connections", type=int, default=16, help="Set the number of clients (default: 16).")
    add("--pages", action="store_true", help="Measure lists while pages of the back office are made.")
    add("--peers", default="", metavar="WORD", help="Leave out the peers whose name does not contain the word.")
    also = "Measure another checkout of the service too. It must work with this one's tables."
    add("--also", type=lambda text: text.split("=", 1), action="append", default=[], metavar="NAME=FOLDER", help=also)
    return parser.parse_args()


# --- What is measured ------------------------------------------------------------------------------------------------


def _compare(store: PostgreSQL, folder: Path, asked: Asked, also: Sequence[tuple[str, str]], word: str) -> Rounds:
    """Measure each operation on each server that has it, in rounds."""
    key, limited = issue_key(store), issue_key(store, "--rate-limit", "1/day")
    create_shop(store, key)
    ours = [service(store), *(service(store, name=name, root=Path(root)) for name, root in also)]
    others = [each for each in peers(store) if word in each.name]
    with ExitStack() as stack:
        servers = [stack.enter_context(running(each, folder)) for each in (*ours, *others)]
        floor = stack.enter_context(running(constant(store), folder))
        deep = _fill(store, ("pets_pet", "shop_pet"), servers, key, asked.rows)
        reads = _operations(key, deep, asked.rows)
        _check(reads[:4], servers)
        operations = [*reads, *_more_operations(key, limited)]
        rounds: Rounds = {each.name: {server.name: [] for server in _having(each, servers)} for each in operations}
        for number in range(asked.rounds):
            servers.append(servers.pop(0))  # each is first in turn
            for operation in operations:
                by_server = rounds[operation.name]
                for server in [*servers, floor] if operation.name == "list" else _having(operation, servers):
                    by_server.setdefault(server.name, []).append(_measure(store, server, operation, asked))
                if operation.name in PGBENCH and PROGRAM.exists():
                    by_server.setdefault("floor: pgbench", []).append(_pgbench(store, folder, operation.name, asked))
            store.execute("VACUUM (ANALYZE) pets_pet, pets_petchange, shop_pet")
            sys.stderr.write(f"Round {number + 1} of {asked.rounds} is done.\n")
    return rounds


def _by_size(postgresql: PostgreSQL, folder: Path, sizes: Sequence[Asked]) -> Rounds:
    """Measure the reads of the service by the number of animals, the largest first, all sizes in turn."""
    rounds: Rounds = {}
    for make in (partial(_database, postgresql), partial(_file, folder)):
        with ExitStack() as stack:
            measured = []
            for asked in sorted(sizes, reverse=True):
                store = make(f"animals_{asked.rows}")
                server = stack.enter_context(running(service(store, name=f"{asked.rows:,} animals"), folder))
                key = issue_key(store)
                deep = _fill(store, ("pets_pet",), [server], key, asked.rows)
                measured.append((store, server, asked, _operations(key, deep, asked.rows)[:4]))
            for _ in range(sizes[0].rounds):
                for store, server, asked, operations in measured:
                    for operation in operations:
                        by_server = rounds.setdefault(f"{operation.name}, {store.name}", {})
                        by_server.setdefault(server.name, []).append(_measure(store, server, operation, asked))
                measured.append(measured.pop(0))  # each is first in turn
    return rounds


def _database(postgresql: PostgreSQL, name: str) -> PostgreSQL:
    postgresql.execute(f"CREATE DATABASE {name}")
    return PostgreSQL(urlsplit(postgresql.url)._replace(path=f"/{name}").geturl())


def _file(folder: Path, name: str) -> SQLite:
    (folder / name).mkdir()
    store = SQLite(folder / name)
    store.empty()
    return store


def _fill(store: Store, tables: Sequence[str], servers: Sequence[Server], key: str, rows: int) -> Mapping[str, str]:
    """Add the animals. Return each server's `next` when half of them were there: a path deep in the walk."""
    fill(store, tables, 1, rows // 2, rows=rows)
    deep = {}
    for server in servers:
        head, _ = fetch(server.port, request("GET", "/v1/pets", key))
        link = re.search(r'link: <([^>]+)>; rel="next"', head.decode(), re.IGNORECASE)
        deep[server.name] = urlsplit(link[1] if link else "")._replace(scheme="", netloc="").geturl()
    fill(store, tables, rows // 2 + 1, rows, rows=rows)
    return deep


def _operations(key: str, deep: Mapping[str, str], rows: int) -> list[Operation]:
    """Return the operations. The first four are reads whose body all servers share."""
    ids = random.Random(1).sample(range(1, rows + 1), min(rows, 997))
    read = partial(request, "GET")
    newest, unknown = read("/v1/pets", key), read("/v1/pets", generate("pets_test_"))
    post = request("POST", "/v1/pets", key, "Content-Type: application/json", body=NEW_PET)

    def unchanged(server: Server) -> list[bytes]:
        etag = re.search(r"etag: (\S+)", fetch(server.port, newest)[0].decode(), re.IGNORECASE)
        return [read("/v1/pets", key, f"If-None-Match: {etag[1] if etag else ''}")]

    return [
        Operation("list", lambda _: [newest]),
        Operation("list by status", lambda _: [read("/v1/pets?status=available&limit=100", key)]),
        Operation("deep page", lambda server: [read(deep[server.name], key)], left_out=(LEAN,)),
        Operation("get one", lambda _: [read(f"/v1/pets/{each}", key) for each in ids]),
        Operation("list, 64 connections", lambda _: [newest], connections=64),
        Operation("401", lambda _: [unknown], 401),
        Operation("304", unchanged, 304, left_out=(LEAN,)),
        Operation("POST", lambda _: [post], 201),
    ]


def _more_operations(key: str, limited: str) -> list[Operation]:
    """Return the operations that not all peers have. `limited` is a key whose limit is used up at once."""
    read = partial(request, "GET")

    def new(name: str) -> bytes:
        headers = ("Content-Type: application/json", f"Idempotency-Key: {name}")
        return request("POST", "/v1/pets", key, *headers, body=NEW_PET)

    def sent_before(server: Server) -> list[bytes]:
        sent = [new(f"sent-before-{number}") for number in range(64)]
        for each in sent:
            fetch(server.port, each)
        return sent

    by_category = "/v1/pets?categoryId=3&limit=100"
    return [
        Operation("list by category", lambda _: [read(by_category, key)], left_out=PEERS),
        Operation(
            "list by category and status", lambda _: [read(f"{by_category}&status=available", key)], left_out=PEERS
        ),
        Operation("POST with a key", lambda _: iter(lambda: new(uuid4().hex), None), 201, left_out=PEERS),
        Operation("replay", sent_before, 201, left_out=PEERS),
        Operation("list categories", lambda _: [read("/v1/categories", key)], left_out=PEERS),
        Operation(
            "get one category", lambda _: [read(f"/v1/categories/{each}", key) for each in (1, 2)], left_out=PEERS
        ),
        Operation("400", lambda _: [read("/v1/pets?limit=0", key)], 400, left_out=OTHER_PEERS),
        Operation("429", lambda _: [read("/v1/pets", limited)], 429, left_out=PEERS),
    ]


def _having(operation: Operation, servers: Sequence[Server]) -> list[Server]:
    return [server for server in servers if server.name not in operation.left_out]


def _check(operations: Sequence[Operation], servers: Sequence[Server]) -> None:
    """Exit unless all servers return the same animals."""
    for operation in operations:
        ours = _animals(servers[0], operation)
        for server in _having(operation, servers[1:]):
            if (theirs := _animals(server, operation)) != ours:
                sys.exit(f"{operation.name}: {server.name} returns {theirs}, {SERVICE} {ours}.")


def _animals(server: Server, operation: Operation) -> Any:
    head, body = fetch(server.port, next(iter(operation.requests(server))))
    if not head.startswith(b"HTTP/1.1 200"):
        sys.exit(f"{operation.name}: {server.name} returns {head.decode()}")
    return json.loads(body)


def _measure(store: Store, server: Server, operation: Operation, asked: Asked) -> Figures:
    return measure(
        server.port,
        operation.requests(server),
        status=operation.status,
        connections=operation.connections or asked.connections,
        seconds=asked.seconds,
        cpu=lambda: (cpu_seconds(server.pid), _database_cpu(store)),
    )


def _database_cpu(store: Store) -> float:
    return server_cpu(store.url) if isinstance(store, PostgreSQL) else 0.0


def _pgbench(store: PostgreSQL, folder: Path, operation: str, asked: Asked) -> Figures:
    """Measure the database alone."""
    script = folder / "pgbench.sql"
    script.write_text(PGBENCH[operation].format(rows=asked.rows))
    options = ("-n", "-M", "prepared", "-c", f"{asked.connections}", "-T", f"{max(1, round(asked.seconds))}")
    before = _database_cpu(store)
    command = (str(PROGRAM), *options, "-f", str(script), store.url)
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cpu = _database_cpu(store) - before
    done, rate = (float(re.findall(rf"{name}\D*([\d.]+)", printed)[-1]) for name in ("processed:", "tps ="))
    return Figures(round(rate), 0.0, round(cpu * 1e6 / done, 1), None, None, 0)


if __name__ == "__main__":
    main()
