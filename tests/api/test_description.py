"""`/openapi.json`: the description, complete and the one that is committed."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client

from petstore_site.public import description as published
from rest.errors import ErrorCode
from tests.whole import FIELDS

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


def test_the_documents_facts(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1")
    assert description["info"]["version"] == "1.0.0"
    assert [server["description"] for server in description["servers"]] == ["Production", "Staging"]
    assert description["components"]["securitySchemes"]["bearerAuth"]["scheme"] == "bearer"
    operations = {
        operation["operationId"]: (path, method, operation)
        for path, item in description["paths"].items()
        for method, operation in item.items()
    }
    assert {name: operation[:2] for name, operation in operations.items()} == {
        "listPets": ("/pets", "get"),
        "createPet": ("/pets", "post"),
        "getPet": ("/pets/{petId}", "get"),
        "listCategories": ("/categories", "get"),
        "getCategory": ("/categories/{categoryId}", "get"),
        "listChanges": ("/changes", "get"),
    }
    assert [name for name, operation in operations.items() if operation[2].get("deprecated")] == ["getPet"]
    assert all(operation["security"] == [{"bearerAuth": []}] for _, _, operation in operations.values())


def test_the_schemas_of_the_document(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    int64 = {"type": "integer", "format": "int64"}
    assert schemas["PetStatus"] == {"type": "string", "enum": ["available", "pending", "sold"]}
    assert set(schemas["NewPet"]["required"]) == {"name", "categoryId"}
    assert set(schemas["NewPet"]["properties"]) == set(FIELDS) - {"id"}
    assert set(schemas["Pet"]["required"]) == {"id", "name", "categoryId"}
    assert set(schemas["Pet"]["properties"]) == set(FIELDS)
    assert int64.items() <= schemas["NewPet"]["properties"]["categoryId"].items()
    assert int64.items() <= schemas["Pet"]["properties"]["id"].items()
    assert schemas["Pets"] == {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}, "maxItems": 100}
    assert schemas["Error"]["required"] == ["code", "message", "status"]
    assert schemas["Error"]["properties"]["code"]["x-extensible-enum"] == [code.value for code in ErrorCode]


def test_no_list_accepts_an_empty_cursor(description: dict[str, Any]) -> None:
    cursors = [
        parameter["schema"]
        for item in description["paths"].values()
        for parameter in item.get("get", {}).get("parameters", [])
        if parameter["name"] == "cursor"
    ]
    assert cursors == [{"type": "string", "minLength": 1}] * 3


def test_a_403_names_the_scope_that_is_needed(description: dict[str, Any]) -> None:
    header = description["paths"]["/pets"]["post"]["responses"]["403"]["headers"]["WWW-Authenticate"]
    assert header == {"$ref": "#/components/headers/ScopeChallenge"}
    assert description["components"]["headers"]["ScopeChallenge"]["schema"] == {
        "type": "string",
        "const": 'Bearer realm="petstore", error="insufficient_scope", scope="write"',
    }


def test_every_code_is_described_somewhere(description: dict[str, Any]) -> None:
    described = {
        code
        for item in description["paths"].values()
        for operation in item.values()
        for status, response in operation["responses"].items()
        if status >= "400"
        for code in response.get("content", {}).get("application/json", {}).get("examples", {})
    }
    of_no_operation = {"route_not_found", "method_not_allowed", "unsupported_transfer_coding"}
    assert described == {code.value for code in ErrorCode} - of_no_operation
