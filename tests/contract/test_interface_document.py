"""The interface document's facts, written out, against the published description.

`interface.md` is the contract: a table here changes only when that document does.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from django.test import Client

from tests.conftest import ApiClient
from tests.factories import CategoryFactory, PetFactory

# --- Section 2: resources and their fields ---------------------------------------------------------------------------

STATUSES = ["available", "pending", "sold"]

Field = tuple[str, str, str | None, bool]
"""Name, type, format, whether it is required."""

NEW_PET: list[Field] = [
    ("name", "string", None, True),
    ("categoryId", "integer", "int64", True),
    ("status", "PetStatus", None, False),
]
PET: list[Field] = [
    *NEW_PET[:2],
    ("status", "PetStatus", None, True),  # more than the document promises: it is always sent
    ("id", "integer", "int64", True),
]
ERROR: list[Field] = [
    ("code", "string", None, True),
    ("message", "string", None, True),
    ("status", "integer", None, True),
]
MEANINGS = {
    ("NewPet", "name"): "The animal's name",
    ("NewPet", "categoryId"): "Identifier of the category the animal belongs to",
    ("NewPet", "status"): "Availability status",
    ("Pet", "id"): "Unique identifier assigned by the service on creation",
    ("Error", "code"): "Machine-readable error code",
    ("Error", "message"): "Human-readable description",
    ("Error", "status"): "The HTTP status code",
}
SCHEMAS = {"NewPet": NEW_PET, "Pet": PET, "Error": ERROR}

# --- Section 4: endpoints --------------------------------------------------------------------------------------------

OPERATIONS = {
    # operation name: method, path, body, deprecated, parameters, responses
    "listPets": ("get", "/pets", None, False, ["limit", "status"], {200: "Pets", 401: "Error"}),
    "createPet": ("post", "/pets", "NewPet", False, [], {201: "Pet", 400: "Error", 401: "Error"}),
    "getPet": ("get", "/pets/{petId}", None, True, ["petId"], {200: "Pet", 401: "Error", 404: "Error"}),
}
PARAMETERS = {
    # operation and parameter: where, required, type, format, minimum, maximum, default
    ("listPets", "limit"): ("query", False, "integer", None, 1, 100, 20),
    ("listPets", "status"): ("query", False, "PetStatus", None, None, None, None),
    ("getPet", "petId"): ("path", True, "integer", "int64", None, None, None),
}
REMOVAL = datetime(2030, 12, 5, tzinfo=UTC)

# --- Sections 5, 7, 8, 9: authentication, errors, limits, versioning -------------------------------------------------

VERSION = "1.0.0"


@pytest.fixture
def description(client: Client) -> dict[str, Any]:
    description: dict[str, Any] = client.get("/openapi.json").json()
    return description


def operation(description: dict[str, Any], name: str) -> dict[str, Any]:
    method, path, *_ = OPERATIONS[name]
    described: dict[str, Any] = description["paths"][path][method]
    return described


def parameter(description: dict[str, Any], name: str, of: str) -> dict[str, Any]:
    [described] = [found for found in operation(description, of)["parameters"] if found["name"] == name]
    return dict(described)


def kind(schema: dict[str, Any]) -> str:
    """Return the name of the type, which may be another schema's."""
    [inner] = schema.get("allOf", [schema])
    return str(inner["$ref"]).rpartition("/")[2] if "$ref" in inner else str(inner["type"])


def media(holder: dict[str, Any]) -> str:
    """Return the name of the one schema of the one media type."""
    [(media_type, content)] = holder["content"].items()
    assert media_type == "application/json"
    return kind(content["schema"])


class TestSchemas:
    """Section 2, in the description."""

    def test_pet_status(self, description: dict[str, Any]) -> None:
        assert description["components"]["schemas"]["PetStatus"] == {"type": "string", "enum": STATUSES}

    @pytest.mark.parametrize("schema", SCHEMAS)
    def test_fields_types_and_formats(self, description: dict[str, Any], schema: str) -> None:
        described = description["components"]["schemas"][schema]
        fields = {(name, kind(field), field.get("format")) for name, field in described["properties"].items()}
        assert described["type"] == "object"
        assert fields == {fact[:3] for fact in SCHEMAS[schema]}
        assert set(described["required"]) == {name for name, *_, required in SCHEMAS[schema] if required}

    @pytest.mark.parametrize(("schema", "field"), MEANINGS)
    def test_meanings(self, description: dict[str, Any], schema: str, field: str) -> None:
        described = description["components"]["schemas"][schema]["properties"][field]
        assert described["description"].startswith(MEANINGS[schema, field])

    def test_pet_has_every_field_of_new_pet(self, description: dict[str, Any]) -> None:
        new, made = (description["components"]["schemas"][name]["properties"] for name in ("NewPet", "Pet"))
        assert set(made) == {*new, "id"}
        limits = ("type", "format", "minimum", "maximum", "minLength", "maxLength", "pattern", "allOf")
        for name, field in new.items():
            assert {limit: field.get(limit) for limit in limits} == {limit: made[name].get(limit) for limit in limits}

    def test_pets(self, description: dict[str, Any]) -> None:
        pets = description["components"]["schemas"]["Pets"]
        assert (pets["type"], kind(pets["items"])) == ("array", "Pet")


class TestOperations:
    """Section 4, in the description."""

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_name_body_and_deprecation(self, description: dict[str, Any], name: str) -> None:
        _, _, body, deprecated, *_ = OPERATIONS[name]
        described = operation(description, name)
        assert described["operationId"] == name
        assert described.get("deprecated", False) is deprecated
        assert ("requestBody" in described) is (body is not None)
        if body:
            assert described["requestBody"]["required"] is True
            assert media(described["requestBody"]) == body

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_answers(self, description: dict[str, Any], name: str) -> None:
        described = operation(description, name)["responses"]
        wanted = OPERATIONS[name][5]
        assert {status: media(described[str(status)]) for status in wanted} == wanted

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_every_other_answer_is_an_error_or_empty(self, description: dict[str, Any], name: str) -> None:
        described = operation(description, name)["responses"]
        others = {status: answer for status, answer in described.items() if int(status) not in OPERATIONS[name][5]}
        assert {media(answer) for status, answer in others.items() if status != "304"} == {"Error"}
        assert "content" not in others.get("304", {})

    def test_the_documents_operations_and_additions(self, description: dict[str, Any]) -> None:
        paths = {(method, path) for path, item in description["paths"].items() for method in item}
        assert paths >= {(method, path) for method, path, *_ in OPERATIONS.values()}
        additions = {"/categories", "/categories/{categoryId}", "/changes"}
        assert {path for _, path in paths} == {"/pets", "/pets/{petId}"} | additions

    @pytest.mark.parametrize(("of", "name"), PARAMETERS)
    def test_parameters(self, description: dict[str, Any], of: str, name: str) -> None:
        described = parameter(description, name, of)
        schema = described["schema"]
        limits = [schema.get(limit) for limit in ("format", "minimum", "maximum", "default")]
        assert (described["in"], described["required"], kind(schema), *limits) == PARAMETERS[of, name]

    @pytest.mark.parametrize("of", OPERATIONS)
    def test_no_other_parameter_is_required(self, description: dict[str, Any], of: str) -> None:
        required = [found["name"] for found in operation(description, of)["parameters"] if found.get("required")]
        assert required == (["petId"] if of == "getPet" else [])
        assert {found["name"] for found in operation(description, of)["parameters"]} >= set(OPERATIONS[of][4])

    def test_the_day_of_removal_and_the_replacement_are_told(self, description: dict[str, Any]) -> None:
        get_pet = operation(description, "getPet")
        assert "5 December 2030" in get_pet["description"]
        assert "`GET /pets` with the `status` filter" in get_pet["description"]
        sunset = description["components"]["headers"]["Sunset"]["schema"]["const"]
        assert parsedate_to_datetime(sunset) == REMOVAL
        announced = {status for status, answer in get_pet["responses"].items() if "Sunset" in answer["headers"]}
        assert announced == set(get_pet["responses"]) - {"501"}, "the server sends it before it looks at the path"


class TestRest:
    """Sections 5 and 9, in the description."""

    def test_bearer_on_every_operation(self, description: dict[str, Any]) -> None:
        [(name, scheme)] = description["components"]["securitySchemes"].items()
        assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
        for item in description["paths"].values():
            for described in item.values():
                assert described["security"] == [{name: []}]

    def test_versions_and_environments(self, description: dict[str, Any]) -> None:
        assert description["info"]["version"] == VERSION
        assert [server["description"] for server in description["servers"]] == ["Production", "Staging"]
        assert all(server["url"].endswith("/v1") for server in description["servers"])


def test_ids_are_int64(api: ApiClient) -> None:
    """Sections 4.2 and 4.3, as the service does it: `tests/recorded` has its other responses."""
    largest = 2**63 - 1
    category = CategoryFactory(pk=largest)
    answer = api.post("/v1/pets", {"name": "Rex", "categoryId": largest})
    assert (answer.status_code, answer.json()["categoryId"]) == (201, largest)
    PetFactory(pk=largest, category=category)
    assert api.get(f"/v1/pets/{largest}").json()["id"] == largest
