"""A service to call, and what every generated client must see when it walks through it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from clients.tools import CannotInstallError
from tests.server import Gunicorn, running_server

LARGEST = 2**63 - 1

SEED = f"""
import json
from datetime import timedelta
from django.utils import timezone
from categories.models import Category
from petstore_site.apikeys.models import APIKey
issue = lambda **options: APIKey.objects.issue(name="Consumer", **options)
(writer, write), (revoked, revoked_text), (expired, expired_text) = issue(), issue(), issue()
revoked.revoke()
APIKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(days=1))
keys = {{
    "write": write,
    "read": issue(scope="read")[1],
    "limited": issue(rate_limit="1/h")[1],
    "expired": expired_text,
    "revoked": revoked_text,
}}
category = Category.objects.create(name="Dogs").pk
Category.objects.create(name="Dragons", pk={LARGEST})
print(json.dumps({{"keys": keys, "category": category, "writer": writer.pk}}))
"""

LARGEST_PET = f"""
from pets.models import Pet
Pet.objects.create(pk={LARGEST}, name="Smaug", category_id={LARGEST})
"""

WALK: dict[str, list[Any]] = {
    "list categories": [200, None],
    "get category": [200, None],
    "create": [201, None],
    "create without status": [201, None],
    "replay": [201, None],
    "get": [200, None],
    "list": [200, None],
    "list pending": [200, None],
    "every page": [200, None],
    "list unchanged": [304, None],
    "get unchanged": [304, None],
    "list categories unchanged": [304, None],
    "get category unchanged": [304, None],
    "malformed": [400, "malformed_json"],
    "empty name": [400, "validation_failed"],
    "unknown category": [400, "validation_failed"],
    "limit 0": [400, "invalid_parameter"],
    "damaged cursor": [400, "invalid_cursor"],
    "damaged cursor of categories": [400, "invalid_cursor"],
    "idempotency key of two words": [400, "bad_request"],
    "no key": [401, "api_key_missing"],
    "unknown key": [401, "api_key_invalid"],
    "expired key": [401, "api_key_expired"],
    "revoked key": [401, "api_key_revoked"],
    "create with a read key": [403, "insufficient_scope"],
    "unknown pet": [404, "pet_not_found"],
    "unknown category id": [404, "category_not_found"],
    "unknown path": [404, "route_not_found"],
    "delete": [405, "method_not_allowed"],
    "large body": [413, "body_too_large"],
    "text": [415, "unsupported_media_type"],
    "other body, same idempotency key": [422, "idempotency_key_reused"],
    "over the limit": [429, "rate_limited"],
}
"""Step → status and `Error.code`, in the order of both consumers."""

IN_PROGRESS: dict[str, list[Any]] = {"in progress": [409, "idempotency_in_progress"]}
"""Where rows can be locked: SQLite lets one writer wait for the other instead."""


class Service:
    """The running service, and what a consumer knows about it."""

    def __init__(self, server: Gunicorn) -> None:
        """Give it keys and categories, one of them with the largest identifier there is."""
        self.server = server
        self.seed: dict[str, Any] = json.loads(server.manage("shell", "--verbosity=0", "--command", SEED))

    @property
    def postgresql(self) -> bool:
        return self.server.environment["DATABASE_URL"].startswith("postgres")

    def arguments(self, walk: str, **more: str) -> str:
        facts = {"walk": walk, "url": f"{self.server.url}/v1", "category": self.seed["category"]}
        return json.dumps(facts | self.seed["keys"] | more)

    def add_largest_pet(self) -> None:
        """Add an animal with the largest identifier; SQLite can add none after it."""
        self.server.manage("shell", "--verbosity=0", "--command", LARGEST_PET)

    @contextmanager
    def request_in_progress(self, key: str) -> Iterator[None]:
        """Hold the row of an Idempotency-Key for the block, as a request that still runs does."""
        with psycopg.connect(self.server.environment["DATABASE_URL"]) as connection:
            connection.execute(
                "INSERT INTO idempotency_idempotentrequest"
                " (api_key_id, key, fingerprint, status, body, location, created_at)"
                " VALUES (%s, %s, '', 0, '', '', now())",
                [self.seed["writer"], key],
            )
            yield
            connection.rollback()


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test if the tools that the block asks for cannot be installed."""
    try:
        yield
    except CannotInstallError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_server(workers=1) as server:
        yield Service(server)


def walk(service: Service, consumer: Callable[[str], str]) -> dict[str, list[Any]]:
    seen: dict[str, list[Any]] = json.loads(consumer(service.arguments("everything")))
    if service.postgresql:
        with service.request_in_progress("still-running"):
            seen |= json.loads(consumer(service.arguments("in progress", idempotency_key="still-running")))
    return seen


def expected_walk(service: Service) -> dict[str, list[Any]]:
    return WALK | IN_PROGRESS if service.postgresql else WALK
