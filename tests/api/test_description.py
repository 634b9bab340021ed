"""`/openapi.json`: the description, complete and the one that is committed."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client

from petstore_site.portal import description as published
from rest.errors import ErrorCode

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


@pytest.fixture
def description(client: Client) -> dict[str, Any]:
    answer = client.get("/openapi.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    description: dict[str, Any] = answer.json()
    return description


def test_it_is_the_committed_one(client: Client) -> None:
    published._built.cache_clear()  # built here, whichever test asked for it first
    description = client.get("/openapi.json").json()
    assert description == yaml.safe_load(COMMITTED.read_text(encoding="utf-8")), "run: make openapi"


def test_every_code_is_described_somewhere(description: dict[str, Any]) -> None:
    described = {
        code
        for item in description["paths"].values()
        for operation in item.values()
        for status, response in operation["responses"].items()
        if status >= "400"
        for code in response.get("content", {}).get("application/json", {}).get("examples", {})
    }
    of_no_operation = {"route_not_found", "method_not_allowed"}
    assert described == {code.value for code in ErrorCode} - of_no_operation
