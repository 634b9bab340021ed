"""`/docs/`: everything that the description says is on the page."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from tests.portal.conftest import Read, text_of

OPERATIONS = ["listPets", "createPet", "getPet", "listCategories", "getCategory", "listChanges"]


@pytest.fixture
def sections(read: Read) -> dict[str, str]:
    """The HTML of each operation, by its ID."""
    parts = re.split(r'<section class="operation split" id="(\w+)"', read("/docs/"))
    return {name: part.split("</section>")[0] for name, part in zip(parts[1::2], parts[2::2], strict=True)}


def operations(description: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, item in description["paths"].items()
        for method, operation in item.items()
    }


def fields(markup: str) -> set[str]:
    return set(re.findall(r'<code class="field-name">([^<]+)</code>', markup))


def resolved(description: dict[str, Any], reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        description = description[part]
    return description


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_parameter_field_and_header(sections: dict[str, str], description: dict[str, Any], name: str) -> None:
    _, _, operation = operations(description)[name]
    expected = {parameter["name"] for parameter in operation["parameters"]}
    expected |= {header for response in operation["responses"].values() for header in response["headers"]}
    if body := operation.get("requestBody"):
        schema = resolved(description, body["content"]["application/json"]["schema"]["$ref"])
        expected |= set(schema["properties"])
    assert fields(sections[name]) == expected


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_meaning_of_a_header(sections: dict[str, str], description: dict[str, Any], name: str) -> None:
    _, _, operation = operations(description)[name]
    shown = text_of(sections[name])
    for response in operation["responses"].values():
        for header in response["headers"].values():
            text = resolved(description, header["$ref"])["description"].replace("`", "")
            assert text.replace('"', "").replace("'", "") in re.sub("[\"“”'\u2019]", "", shown)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_status_and_code(sections: dict[str, str], description: dict[str, Any], name: str) -> None:
    _, _, operation = operations(description)[name]
    for status, response in operation["responses"].items():
        assert f"HTTP/1.1 {status} " in text_of(sections[name])
        for code, example in response.get("content", {}).get("application/json", {}).get("examples", {}).items():
            if status >= "400":
                assert f'<a href="/docs/errors/{code}"><code>{code}</code></a>' in sections[name]
                assert json.dumps(example["value"], indent=2) in text_of(sections[name])


@pytest.mark.parametrize("name", OPERATIONS)
def test_limits_and_values(sections: dict[str, str], description: dict[str, Any], name: str) -> None:
    _, _, operation = operations(description)[name]
    names = {parameter["name"] for parameter in operation["parameters"]}
    shown = text_of(sections[name])
    assert ("1–100Default 20" in shown) is ("limit" in names)  # noqa: RUF001
    texts = [parameter["schema"] for parameter in operation["parameters"] if "maxLength" in parameter["schema"]]
    lengths = {f"{text['minLength']}–{text['maxLength']} characters" for text in texts}  # noqa: RUF001
    assert set(re.findall("[0-9]+–[0-9]+ characters", shown)) == lengths  # noqa: RUF001
    assert ("One of available, pending, sold" in shown) is (name in {"listPets", "createPet"})


def test_every_object(read: Read, description: dict[str, Any]) -> None:
    parts = re.split(r'<section class="schema" id="schema-(\w+)"', read("/docs/"))
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    objects = {name: one for name, one in description["components"]["schemas"].items() if one["type"] == "object"}
    assert list(shown) == [name.lower() for name in objects]
    for name, schema in objects.items():
        assert fields(shown[name.lower()]) == set(schema["properties"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_can_be_tried(sections: dict[str, str], description: dict[str, Any], name: str) -> None:
    method, path, operation = operations(description)[name]
    form = re.search(r"<form .*?</form>", sections[name], re.DOTALL)
    assert form
    assert f'data-method="{method}" data-path="/v1{path}"' in form[0]
    assert set(re.findall(r' name="([\w-]+)"', form[0])) == {one["name"] for one in operation["parameters"]}
    assert ("<textarea" in form[0]) is ("requestBody" in operation)
    assert 'type="password" data-in="key" autocomplete="off"' in form[0]


def test_the_servers_are_those_of_the_settings(client: Client, read: Read, description: dict[str, Any]) -> None:
    page = read("/docs/")
    for server in description["servers"]:
        assert f"<dt>{server['description']}</dt><dd><code>{server['url']}</code></dd>" in page


@pytest.mark.parametrize(("environment", "warned"), [("production", True), ("staging", False)])
def test_a_request_that_adds_something_to_production_warns(client: Client, settings: Any, environment: str, warned: bool) -> None:  # fmt: skip
    settings.PETSTORE_ENVIRONMENT = environment
    page = client.get("/docs/").content.decode()
    assert ("This is production." in page) == warned
    buttons = re.findall(r'type="submit">(\w[\w ]+)<', page)
    assert buttons == [
        "Send request" if name.startswith(("list", "get")) or not warned else "Send to production"
        for name in OPERATIONS
    ]


def test_the_values_that_do_not_change_are_in_the_versioning_policy(read: Read, description: dict[str, Any]) -> None:
    policy = text_of(read("/docs/guide/").partition('<section id="versioning"')[2].partition("</section>")[0])
    enums = [schema["enum"] for schema in description["components"]["schemas"].values() if "enum" in schema]
    assert [value for values in enums for value in values if value not in policy] == []
    assert len(enums) == 2
