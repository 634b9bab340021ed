"""A description that breaks the clients of the released one must not pass by accident."""

import re
from collections.abc import Callable
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.breaking import breaks

DOCS = Path(__file__).parent.parent.parent / "docs"

Change = Callable[[Any], None]

BASE = yaml.safe_load("""
paths:
  /pets:
    get:
      operationId: listPets
      parameters:
      - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100, default: 20}}
      - {name: status, in: query, schema: {$ref: '#/components/schemas/Status'}}
      responses:
        '200': {content: {application/json: {schema: {type: array, maxItems: 100, items: {$ref: '#/components/schemas/Pet'}}}}}
        '401': {content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
    post:
      operationId: createPet
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/NewPet'}}}}
      responses:
        '201':
          headers: {Location: {required: true, schema: {type: string, format: uri}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
  /pets/{petId}:
    parameters:
    - {name: petId, in: path, required: true, schema: {type: integer, format: int64}}
    get:
      operationId: getPet
      deprecated: true
      responses:
        '200':
          headers: {Sunset: {$ref: '#/components/headers/Sunset'}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
security: [{bearerAuth: []}]
components:
  securitySchemes: {bearerAuth: {type: http, scheme: bearer, description: A key}}
  headers: {Sunset: {schema: {type: string, const: 'Thu, 05 Dec 2030 00:00:00 GMT'}}}
  schemas:
    Status: {type: string, enum: [available, sold]}
    NewPet:
      type: object
      properties:
        name: {type: string, minLength: 1, maxLength: 255}
        status: {allOf: [{$ref: '#/components/schemas/Status'}], default: available}
        note: {type: [string, 'null']}
      required: [name]
    Pet:
      type: object
      properties:
        id: {type: integer, format: int64}
        name: {type: string, maxLength: 255}
        kind: {type: string, enum: [cat, dog]}
        weight: {type: number}
      required: [id, name]
    Error:
      type: object
      properties: {code: {type: string, enum: [api_key_missing]}, status: {type: integer}}
      required: [code, status]
""")

PETS = ("paths", "/pets")
PET_PATH = ("paths", "/pets/{petId}")
LIMIT = (*PETS, "get", "parameters", 0)
SCHEMAS = ("components", "schemas")
NEW_PET, PET, ERROR = (*SCHEMAS, "NewPet"), (*SCHEMAS, "Pet"), (*SCHEMAS, "Error")


def put(*way: Any, to: Any) -> Change:
    def change(document: Any) -> None:
        reduce(getitem, way[:-1], document)[way[-1]] = deepcopy(to)

    return change


def drop(*way: Any) -> Change:
    return lambda document: reduce(getitem, way[:-1], document).pop(way[-1])


def in_pets(what: str) -> list[str]:
    """Return the lines of a break in every Pet."""
    return [f"{where} Pet.{what}" for where in ("GET /pets: 200[]", "POST /pets: 201", "GET /pets/{petId}: 200")]


SECURITY = [f"{operation}: security changed" for operation in ("GET /pets", "POST /pets", "GET /pets/{petId}")]

BREAKS: list[tuple[Change, list[str]]] = [
    (drop(*PET_PATH), ["GET /pets/{petId}: was removed"]),
    (drop(*PETS, "post"), ["POST /pets: was removed"]),
    (put(*PETS, "get", "operationId", to="pets"), ["GET /pets: operationId changed"]),
    (drop(*PETS, "get", "responses", "401"), ["GET /pets: 401: was removed"]),
    (drop(*LIMIT), ["GET /pets: parameter limit was removed"]),
    (put(*LIMIT, "required", to=True), ["GET /pets: parameter limit is now required"]),
    (
        put(*PETS, "post", "parameters", to=[{"name": "Key", "in": "header", "required": True}]),
        ["POST /pets: parameter key is now required"],
    ),
    (put(*LIMIT, "schema", "minimum", to=2), ["GET /pets: parameter limit: minimum changed"]),
    (put(*LIMIT, "schema", "maximum", to=50), ["GET /pets: parameter limit: maximum changed"]),
    (put(*LIMIT, "schema", "default", to=10), ["GET /pets: parameter limit: default changed"]),
    (put(*LIMIT, "schema", "type", to="string"), ["GET /pets: parameter limit: type changed"]),
    (put(*LIMIT, "schema", "enum", to=[10, 20]), ["GET /pets: parameter limit: allowed values changed"]),
    (
        put(*PET_PATH, "parameters", 0, "schema", "format", to="int32"),
        ["GET /pets/{petId}: parameter petId: format changed"],
    ),
    (
        put(*SCHEMAS, "Status", "enum", to=["available"]),
        [
            "GET /pets: parameter status Status: allowed values changed",
            "POST /pets: request NewPet.status: allowed values changed",
        ],
    ),
    (put(*PETS, "post", "requestBody", "required", to=True), ["POST /pets: a request body is now required"]),
    (put(*PETS, "post", "requestBody", "content", to={}), ["POST /pets: request: application/json was removed"]),
    (put(*NEW_PET, "required", to=["name", "status"]), ["POST /pets: request NewPet.status: is now required"]),
    (
        put(*NEW_PET, "allOf", to=[{"required": ["age"], "properties": {"age": {}}}]),
        ["POST /pets: request NewPet.age: is now required"],
    ),
    (drop(*NEW_PET, "properties", "note"), ["POST /pets: request NewPet.note: was removed"]),
    (put(*NEW_PET, "properties", "note", "type", to="string"), ["POST /pets: request NewPet.note: type changed"]),
    (put(*NEW_PET, "properties", "name", "maxLength", to=100), ["POST /pets: request NewPet.name: maxLength changed"]),
    (put(*NEW_PET, "properties", "name", "pattern", to="^A"), ["POST /pets: request NewPet.name: pattern changed"]),
    (
        put(*NEW_PET, "properties", "status", "default", to="sold"),
        ["POST /pets: request NewPet.status: default changed"],
    ),
    (put(*NEW_PET, "additionalProperties", to=False), ["POST /pets: request NewPet: additionalProperties changed"]),
    (
        put(*NEW_PET, "properties", "name", "anyOf", to=[{"minLength": 2}, {"maxLength": 9}]),
        ["POST /pets: request NewPet.name: anyOf changed"],
    ),
    (drop(*PET, "properties", "weight"), in_pets("weight: was removed")),
    (put(*PET, "properties", "id", "type", to=["integer", "null"]), in_pets("id: type changed")),
    (put(*PET, "required", to=["id"]), in_pets("name: is no longer required")),
    (put(*PET, "properties", "kind", "enum", to=["cat", "dog", "fish"]), in_pets("kind: allowed values changed")),
    (drop(*PET, "properties", "name", "maxLength"), in_pets("name: maxLength changed")),
    (put(*ERROR, "properties", "code", "type", to="integer"), ["GET /pets: 401 Error.code: type changed"]),
    (put(*ERROR, "required", to=["code"]), ["GET /pets: 401 Error.status: is no longer required"]),
    (
        put(*PETS, "get", "responses", "200", "content", to={"application/json": {"schema": {"type": "object"}}}),
        ["GET /pets: 200: type changed", "GET /pets: 200: maxItems changed"],
    ),
    (
        put(*PETS, "get", "responses", "200", "content", to={"text/csv": {}}),
        ["GET /pets: 200: application/json was removed"],
    ),
    (drop(*PETS, "post", "responses", "201", "headers"), ["POST /pets: 201: header Location was removed"]),
    (
        put(*PETS, "post", "responses", "201", "headers", "Location", "required", to=False),
        ["POST /pets: 201: header Location is no longer always sent"],
    ),
    (
        put("components", "headers", "Sunset", "schema", "const", to="Thu, 01 Jan 2026 00:00:00 GMT"),
        ["GET /pets/{petId}: 200: header Sunset: allowed values changed"],
    ),
    (put("security", to=[]), SECURITY),
    (put(*PETS, "post", "security", to=[{"other": []}]), ["POST /pets: security changed"]),
    (put("components", "securitySchemes", "bearerAuth", "scheme", to="basic"), SECURITY),
]

COMPATIBLE: dict[str, Change] = {
    "nothing": put("info", to={}),
    "new path": put("paths", "/dogs", to={"get": {"responses": {}}}),
    "new operation": put(*PETS, "put", to={"responses": {}}),
    "new response status": put(*PETS, "get", "responses", "429", to={}),
    "new response header": put(*PETS, "get", "responses", "200", "headers", to={"ETag": {"schema": {}}}),
    "new media type": put(*PETS, "get", "responses", "401", "content", "text/plain", to={}),
    "new optional parameter": put(*PETS, "post", "parameters", to=[{"name": "dry", "in": "query"}]),
    "parameter moves to the path": put(*PETS, "get", "parameters", 0, to={"$ref": "#/components/schemas/limit"}),
    "wider parameter": put(*LIMIT, "schema", "maximum", to=1000),
    "parameter of more types": put(*LIMIT, "schema", "type", to=["number", "string"]),
    "new optional request field": put(*NEW_PET, "properties", "age", to={"type": "integer"}),
    "request field no longer required": put(*NEW_PET, "required", to=[]),
    "request status for requests alone": put(
        *NEW_PET, "properties", "status", "enum", to=["available", "sold", "lost"]
    ),
    "longer names to send": put(*NEW_PET, "properties", "name", "maxLength", to=500),
    "new response field": put(*PET, "properties", "age", to={"type": "integer"}),
    "response field now required": put(*PET, "required", to=["id", "name", "kind"]),
    "narrower response enum": put(*PET, "properties", "kind", "enum", to=["cat"]),
    "integers for numbers": put(*PET, "properties", "weight", "type", to="integer"),
    "fewer at once": put(*PETS, "get", "responses", "200", "content", "application/json", "schema", "maxItems", to=50),
    "new error code": put(*ERROR, "properties", "code", "enum", to=["api_key_missing", "rate_limited"]),
    "any error code": put(*ERROR, "properties", "code", to={"type": "string"}),
    "same by allOf": put(*SCHEMAS, "Pet", to={"allOf": [BASE["components"]["schemas"]["Pet"]], "description": "A pet"}),
    "newly deprecated": put(*PETS, "get", "deprecated", to=True),
    "other words": put("components", "securitySchemes", "bearerAuth", "description", to="The key that you were given"),
}


def changed(change: Change) -> Any:
    document = deepcopy(BASE)
    document["components"]["schemas"]["limit"] = deepcopy(BASE["paths"]["/pets"]["get"]["parameters"][0])
    change(document)
    return document


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def version(path: Path) -> tuple[int, ...]:
    match = re.fullmatch(r"openapi-(\d+)\.(\d+)\.(\d+)\.yaml", path.name)
    assert match, path.name
    return tuple(int(number) for number in match.groups())


RELEASED = sorted((DOCS / "released").glob("*.yaml"), key=version)


CORRECTED = {
    "POST /pets: 411: was removed",  # the server always knows where a body ends
}
"""Where a released description allowed what the service always rejected, or had what it never sent."""

WITHDRAWN = ": header Service-Mode was removed"
"""Reads while the primary is lost said it, and went with 2.0 (docs/decisions/0058-reads-wait-for-the-new-primary.md)."""


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_no_released_client_breaks(path: Path) -> None:
    """A breaking change needs a new major version, under another path, beside this one."""
    found = set(breaks(read(path), read(DOCS / "openapi.yaml"))) - CORRECTED
    assert {line for line in found if not line.endswith(WITHDRAWN)} == set()


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_a_released_description_says_the_version_of_the_interface(path: Path) -> None:
    assert read(path)["info"]["version"] == "1.0.0"


def test_every_release_has_its_description() -> None:
    dated = re.findall(r"^## (\S+) \(\d", (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    since_1_5 = dated[: dated.index("1.4.0")]
    assert since_1_5[::-1] == [".".join(map(str, version(path))) for path in RELEASED]


@pytest.mark.parametrize(("change", "lines"), BREAKS, ids=[lines[0] for _, lines in BREAKS])
def test_a_breaking_change_is_found(change: Change, lines: list[str]) -> None:
    assert breaks(BASE, changed(change)) == lines


@pytest.mark.parametrize("change", COMPATIBLE.values(), ids=COMPATIBLE)
def test_a_compatible_change_passes(change: Change) -> None:
    assert breaks(BASE, changed(change)) == []


def test_the_real_description_is_read_to_its_depth() -> None:
    """The changes above, made to the real one: each reaches its way of referring to things."""
    released = read(RELEASED[-1])
    for change in (
        drop("components", "schemas", "Pet", "properties", "name"),
        put("components", "schemas", "PetStatus", "enum", to=["available"]),
        put("components", "headers", "Sunset", "schema", "const", to="Thu, 01 Jan 2026 00:00:00 GMT"),
    ):
        document = deepcopy(released)
        change(document)
        assert breaks(released, document)
    assert breaks(released, deepcopy(released)) == []
