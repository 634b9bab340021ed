"""The parts of `make -C lab bench` that decide its figures."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.flood import fetch, request

from lab.benchmarks import report, statements
from lab.benchmarks.load import Figures, measure
from lab.benchmarks.processes import cpu_seconds, parent
from lab.benchmarks.summary import ratios, tables

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the CPU of another process is read as on Linux")


@contextmanager
def responding(*parts: bytes, closes: bool = False) -> Iterator[int]:
    """Run a server that sends these parts for each request, and give its port."""

    def serve(connection: socket.socket) -> None:
        with connection:
            while connection.recv(65536):
                for part in parts:
                    connection.sendall(part)
                if closes:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,)).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def measured(port: int, *, status: int = 200) -> Figures:
    clock = iter([(1.0, 2.0), (3.0, 2.5)])
    asked = [request("GET", "/v1/pets", "key")]
    return measure(port, asked, status=status, connections=3, seconds=0.1, cpu=lambda: next(clock))


def test_a_response_in_parts_is_one_request_and_its_cpu_is_shared_out() -> None:
    with responding(OK[:30], OK[30:], b"[", b"]") as port:
        assert fetch(port, request("GET", "/v1/pets", "key")) == (OK[:-4], b"[]")
        figures = measured(port)
    assert figures.errors == 0
    assert figures.server_cpu == pytest.approx(4 * figures.database_cpu, rel=0.01)


@pytest.mark.parametrize(
    ("parts", "closes"), [((b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",), False), ((), True), ((OK, b"["), True)]
)
def test_another_status_and_no_whole_response_are_errors(parts: tuple[bytes, ...], closes: bool) -> None:
    with responding(*parts, closes=closes) as port:
        figures = measured(port)
    assert figures.errors >= 3
    assert figures.cpu * figures.errors == pytest.approx(2.5e6, rel=0.01)  # each request was one


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"])
def test_a_connection_that_the_server_closes_is_opened_again(head: bytes) -> None:
    with responding(head, closes=True) as port:
        assert measured(port).errors == 0


def test_a_304_has_no_body_whatever_its_length_says() -> None:
    with responding(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 900\r\n\r\n") as port:
        assert measured(port, status=304).errors == 0


@LINUX
def test_the_cpu_of_children_is_counted_while_they_run_and_after_they_ended() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    child = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", child]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert parent(process.pid) == os.getpid()
        process.stdout.readline()
        assert cpu_seconds(process.pid) >= 0.25  # what has ended is counted in hundredths
        assert cpu_seconds(os.getpid()) >= cpu_seconds(process.pid)
        process.communicate()


def figures(server: float, database: float) -> Figures:
    return Figures(1000, server, database, 1.0, 2.0, 0)


def test_ratios_are_those_of_each_round() -> None:
    ours = [figures(100, 0), figures(300, 100), figures(90, 10)]
    assert ratios(ours, [figures(100, 100), figures(700, 100), figures(100, 0)]) == "0.50 (0.50–1.00)"


def test_the_report_shows_each_server_and_how_far_the_goal_is() -> None:
    servers = {
        "this service": [figures(80, 20)],
        "plain DRF": [figures(900, 100)],
        "floor: pgbench": [Figures(9000, 0, 50, None, None, 1)],
    }
    result = {
        "title": "By operation", "date": "2026-11-22", "commit": "abc", "how": "10 animals", "machine": "A, 2 cores",
        "load_average": 0.1, "versions": {"Python": "3"}, "figures": {"list": servers},
    }  # fmt: skip
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.section(json.loads(json.dumps(result)))]
    compared = ["1,000", "1,000", "900", "100", "1.0", "2.0", "0"]
    assert ["plain DRF", *compared, "0.10 (0.10–0.10)", "0.13"] in rows
    assert ["floor: pgbench", "9,000", "50", "0", "50", "", "", "1", "2.00 (2.00–2.00)", ""] in rows


def test_operations_of_the_service_are_compared_with_each_other() -> None:
    measured = {"get one": [figures(80, 20), figures(100, 0)], "list categories": [figures(150, 50), figures(180, 0)]}
    rounds = {name: {"this service": found, "plain DRF": [figures(1, 1)] * 2} for name, found in measured.items()}
    assert [*tables(rounds)][-3:] == [
        "| CPU, first ÷ second           |              ratio |  goal |",
        "| --- | ---: | ---: |",
        "| list categories ÷ get one     |   1.90 (1.80–2.00) |   1.3 |",
    ]


def test_the_time_of_a_statement_counts_once_and_little_ones_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 3.0, 4.0, 4.0, 5.0, 5.05, 6.0, 6.05, 20.0])
    clock = statements.Clock()
    with monkeypatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: next(now))
        with clock.taking("all"):
            with clock.taking("COPY"), clock.taking("ANALYZE"):
                pass
            for _ in range(2):
                with clock.taking("SELECT"):
                    pass
    assert [(what, round(took, 2)) for what, took in clock.parts()] == [
        ("all", 16.9),
        ("COPY", 2.0),
        ("ANALYZE", 1.0),
        ("all other statements", 0.1),
    ]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("\n UPDATE pets_pet SET name = ''", "UPDATE pets_pet"),
        ("CREATE TEMPORARY TABLE import_known AS SELECT 1", "CREATE TEMPORARY TABLE import_known"),
        ("SELECT count(*),\n max(line) FROM import_rows", "SELECT FROM import_rows"),
        ("SET work_mem = '1MB'", "all other statements"),
    ],
)
def test_a_statement_is_named_by_its_table(statement: str, name: str) -> None:
    assert statements.name_of(statement) == name


def test_the_pages_and_the_chart_show_the_last_results() -> None:
    for page in (report.PAGE, report.PAGE_OF_IMPORTS, report.RELY_ON):
        assert len(report.FILLED.findall(page.read_text(encoding="utf-8"))) == 1
    for file, text in report.filled().items():
        assert file.read_text(encoding="utf-8") == text, (
            f"{file.name} is older than the results: run make -C lab bench-report"
        )


def test_the_chart_has_a_bar_for_each_part_of_each_server() -> None:
    svg = "".join(report.chart({"list": {"this service": [figures(80, 20)], "A & B": [figures(900, 100)]}}))
    assert svg.count("<rect") == 5
    assert "A &amp; B" in svg
    assert "1,000 µs" in svg
