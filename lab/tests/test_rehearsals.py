"""The operator's book: each chapter has its rehearsal, and the two that need no Patroni run here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.protocol.nginx import program
from tests.server import ROOT, until
from tests.with_postgresql import NoPostgreSQLError, _running, find_binaries

from lab.rehearsals.__main__ import CHAPTERS

BOOK = (ROOT / "docs/operators-book.md").read_text()


def test_each_chapter_names_its_rehearsal() -> None:
    rows = re.findall(r"^\| \[.*\]\(#([\w-]+)\) \| `(\w+)` \|", BOOK, re.MULTILINE)
    assert [rehearsal for _, rehearsal in rows] == list(CHAPTERS)
    titles = re.findall(r"^## (.*)$", BOOK, re.MULTILINE)
    assert [anchor for anchor, _ in rows] == [title.lower().replace(" ", "-") for title in titles]


@pytest.mark.parametrize(("chapter", "needs"), [("rotate_passwords", "redis-server"), ("renew_certificates", "nginx")])
def test_no_request_fails_while_it_is_replaced(chapter: str, needs: str) -> None:
    program(needs)
    try:
        find_binaries()
    except NoPostgreSQLError as missing:
        pytest.skip(f"PostgreSQL ({missing})")
    CHAPTERS[chapter]()


REHEARSE = [sys.executable, "-m", "lab.rehearsals"]


def test_what_is_not_installed_is_said_before_anything_begins(tmp_path: Path) -> None:
    for there in ("etcd", "haproxy", "patroni"):
        (tmp_path / there).touch(0o755)
    done = subprocess.run(
        [*REHEARSE, "rotate_passwords", "lose_etcd"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )  # fmt: skip
    said = "etcdctl is not installed. See docs/high-availability.md\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_it_cleans_up_when_it_is_told_to_end(tmp_path: Path) -> None:
    program("redis-server")
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    with subprocess.Popen([*REHEARSE, "rotate_passwords"], cwd=ROOT, env=environment) as process:
        until(lambda: len([child for child, parent in _running() if parent == process.pid]) > 1)
        started = [child for child, parent in _running() if parent == process.pid]
        process.terminate()
        assert process.wait(60) == 143
    assert not {child for child, _ in _running()} & {*started}
    assert [*tmp_path.iterdir()] == []
