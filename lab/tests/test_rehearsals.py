"""The operator's book: each chapter has its rehearsal, and the two that need no Patroni run here."""

import re

import pytest
from tests.protocol.nginx import program
from tests.server import ROOT
from tests.with_postgresql import NoPostgreSQLError, find_binaries

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
