"""What PostgreSQL plans for each statement of the event loop, on the connections that run it."""

from typing import Any
from uuid import uuid4

import pytest
import uvloop
from django.core.management import call_command
from django.db import connection

from database.statements import Statement
from petstore_site.apikeys.models import APIKey
from petstore_site.serving.adapter import Adapter
from petstore_site.serving.door import Door
from petstore_site.serving.postgresql import OnPostgreSQL
from tests.serving.calling import ask, scope
from tests.serving.test_loop import no_thread

pytestmark = [
    pytest.mark.postgresql("SQLite compiles nothing, and its plans have no costs"),
    pytest.mark.django_db(transaction=True),
]

MOST = 100_000
"""What a plan may cost: PostgreSQL's default for `jit_above_cost`, from which it compiles."""

VALUES = {"text": "sold", "character varying": "sold", "timestamp with time zone": "now", "pg_lsn": "0/0"}
"""By the type of a parameter."""

FILTERS = ["", "status=sold", "categoryId=2", "status=sold&categoryId=2"]
LISTS = [f"/v1/pets?{each}&limit={limit}" for each in (*FILTERS, "categoryId=999") for limit in (1, 20, 100)]
READS = [
    *LISTS,
    "/v1/changes",
    "/v1/pets/1",
    "/v1/pets/999999",
    "/v1/categories",
    "/v1/categories/1",
    "/v1/categories/999",
]


@pytest.fixture(params=["a few animals", "none"])
def key(request: pytest.FixtureRequest, settings: Any) -> str:
    settings.ALLOWED_HOSTS = ["localhost"]
    if request.param != "none":
        call_command("load_demo_data", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return APIKey.objects.issue(name="Shop")[1]


def test_no_statement_is_compiled_or_costs_as_much(key: str) -> None:
    """On the default settings of the server. The plan does not depend on the parameters."""
    plans = uvloop.run(plans_of(key))
    assert len(plans) >= len(READS) - 1  # a list and an unknown category are stated like another one
    assert [(sql, plan) for sql, plan in plans if plan["Plan"]["Total Cost"] > MOST or "JIT" in plan] == []


def test_no_connection_of_django_compiles() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)


async def plans_of(key: str) -> list[tuple[str, Any]]:
    """Send requests of each kind; return text and plan of each statement that was prepared for them."""
    driver = OnPostgreSQL(2)
    door = Door(no_thread, 2, Adapter(driver))
    sent: dict[str, str] = {"authorization": f"Bearer {key}", "content_type": "application/json"}
    for path in READS:
        assert (await ask(door, scope(path, **sent))).status in {200, 404}
    for body in (b'{"name": "Rex", "categoryId": 1}', b'{"name": "", "categoryId": 1}'):
        for more in ({}, {"idempotency_key": uuid4().hex}):
            added = scope("/v1/pets", "POST", content_length=str(len(body)), **sent, **more)
            assert (await ask(door, added, [body])).status in {201, 400}
    plans = []
    for connections in (driver._for_keys, driver._to_read, driver._to_write):
        for each in connections._idle:
            for sql, prepared in [*each._statements.items()]:
                plans.append((sql, await plan_of(each, prepared.name.decode())))
            await each.close()
    return plans


async def plan_of(used: Any, name: str) -> Any:
    types = "SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = %(name)s"
    given = [f"'{VALUES.get(of_type, '1')}'" for (of_type,) in await used.rows(Statement(types, {"name": name}))]
    await used.rows(Statement("BEGIN", {}))
    execute = f'EXECUTE "{name}"' + (f"({', '.join(given)})" if given else "")
    [[[plan]]] = await used.rows(Statement(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}", {}))
    await used.rows(Statement("ROLLBACK", {}))
    return plan
