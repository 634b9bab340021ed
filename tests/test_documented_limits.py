"""Deadlines and limits that documents name are those of the code, and the same in each document."""

import re
from typing import Any

import pytest
from django.conf import settings

from petstore_site.configuration import database
from petstore_site.serving import adapter, door, postgresql, threads
from petstore_site.staff import lockout
from tests.server import ROOT


def text_of(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def seconds(option: str) -> str:
    """Return the seconds of an option that PostgreSQL gets for requests."""
    found = re.search(rf"{option}=(\d+)s", database.REQUEST_DEADLINES)
    assert found
    return found[1]


DEADLINES = {
    "| lock | {} |": seconds("lock_timeout"),
    "| connect to the database | {} |": database.CONNECT["connect_timeout"],
    "| statement | {} |": seconds("statement_timeout"),
    "| to read more of a long response | {} |": threads.STALL_SECONDS,
    "| idle in a transaction | {} |": seconds("idle_in_transaction_session_timeout"),
    "| a response, once the whole request has arrived | {} |": adapter.DEADLINE,
    "| a response to a form of the back office | {} |": threads.FORM_DEADLINE,
    "| a thread | {} |": threads.QUEUE_SECONDS,
    "| a connection to the database | {} |": postgresql.WAIT_SECONDS,
    "| each part of its body | {} |": door.PART_SECONDS,
    "| all of its body | {} |": door.TOTAL_SECONDS,
    "a read gets {} s in the database": postgresql.SECONDS,
    "A write gets {} s and is not retried": postgresql.WRITE_SECONDS,
    "if it would wait longer than {} s for a thread or a connection": adapter.MOST_SECONDS,
    "or if {} requests already wait for a thread": threads.MOST_WAITING,
    "after {:.0f} ms": door.REJECTION_SECONDS * 1000,
}


@pytest.mark.parametrize(("sentence", "value"), DEADLINES.items(), ids=list(DEADLINES))
def test_deadlines(sentence: str, value: Any) -> None:
    assert sentence.format(value) in text_of("docs/deadlines.md")


def test_failed_sign_ins() -> None:
    by_address, by_both = re.findall(r"(\d+)/15m", settings.ACCOUNT_RATE_LIMITS["login_failed"])
    anywhere = lockout.ELSEWHERE["login_failed"].partition("/")[0]
    minutes, days = lockout.PERIOD // 60, lockout.REMEMBERED.days
    page = text_of("docs/staff-sign-in.md")
    for sentence in (
        f"counted for {minutes} minutes",
        f"| {by_both} with one name from one address |",
        f"| {anywhere} with one name from anywhere |",
        f"| {by_address} from one address |",
        f"during the last {days} days",
    ):
        assert sentence in page
    waits = f"After {by_both} to {by_address} failures, the name or the address must wait {minutes} minutes"
    assert waits in text_of("SECURITY.md")
