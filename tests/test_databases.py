"""From `DATABASE_URL` to Django's settings."""

from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from petstore_site.configuration.database import (
    parse_database_url,
    sentence,
)

BASE = Path("/srv/petstore")
REQUEST_DEADLINES = "-c statement_timeout=3s -c lock_timeout=1s -c idle_in_transaction_session_timeout=5s"
COMMAND_DEADLINES = "-c statement_timeout=0 -c lock_timeout=5s -c idle_in_transaction_session_timeout=0"
ALWAYS = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c jit=off"


def parsed(url: str, **options: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"base_dir": BASE, "serving": True, "pgbouncer": False}
    return parse_database_url(url, **defaults | options)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:///var/shop.sqlite3", BASE / "var/shop.sqlite3"),
        ("sqlite:////data/shop.sqlite3", Path("/data/shop.sqlite3")),
        ("sqlite:///with%20space.sqlite3", BASE / "with space.sqlite3"),
    ],
)
def test_sqlite(url: str, name: Path) -> None:
    assert parsed(url) == {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 5,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        },
    }


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_postgresql_for_requests(scheme: str) -> None:
    assert parsed(f"{scheme}://keeper:p%40ss%2Fword@db.example:5433/shop?sslmode=verify-full") == {
        "ENGINE": "database.postgresql",
        "NAME": "shop",
        "USER": "keeper",
        "PASSWORD": "p@ss/word",
        "HOST": "db.example",
        "PORT": "5433",
        "CONN_MAX_AGE": None,
        "DISABLE_SERVER_SIDE_CURSORS": False,
        "OPTIONS": {
            "connect_timeout": 2,
            "tcp_user_timeout": 5000,
            "keepalives": 1,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "target_session_attrs": "read-write",
            "application_name": "petstore",
            "sslmode": "verify-full",
            "options": f"{REQUEST_DEADLINES} {ALWAYS}",
            "prepare_threshold": 2,
        },
    }


def test_commands_keep_no_connection_and_take_their_time() -> None:
    settings = parsed("postgres://u@h/shop", serving=False)
    assert settings["CONN_MAX_AGE"] == 0
    assert settings["OPTIONS"]["options"] == f"{COMMAND_DEADLINES} {ALWAYS}"
    assert "prepare_threshold" not in settings["OPTIONS"]


def test_behind_pgbouncer_the_role_carries_the_deadlines() -> None:
    settings = parsed("postgres://u@h/shop", pgbouncer=True)
    assert "options" not in settings["OPTIONS"]
    assert "prepare_threshold" not in settings["OPTIONS"]
    assert settings["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_the_address_may_choose_otherwise_and_name_several_hosts_or_a_socket() -> None:
    several = parsed("postgres://u@a,b:5433/shop?target_session_attrs=any&application_name=mine")
    assert (several["HOST"], several["PORT"]) == ("a,b", ",5433")
    assert several["OPTIONS"]["target_session_attrs"] == "any"
    assert several["OPTIONS"]["application_name"] == "mine"
    assert parsed("postgres://u@/shop?host=/run/postgresql")["HOST"] == "/run/postgresql"


@pytest.mark.parametrize("url", ["postgres://u:hunter2@h:x/db", "postgres://u:hunter2@[h/db", "redis://hunter2@h"])
def test_a_mistake_never_repeats_the_address(url: str) -> None:
    with pytest.raises(ValueError, match="must be sqlite:///") as caught:
        parsed(url)
    assert "hunter2" not in str(caught.value)


def test_an_error_that_repeats_the_address_is_shown_without_its_password() -> None:
    error = OperationalError("cannot connect to\npostgres://keeper:hunter2@db.example/shop")
    expected = (
        "The database named by DATABASE_URL cannot be used: cannot connect to postgres://keeper:***@db.example/shop"
    )
    assert sentence(error) == expected
