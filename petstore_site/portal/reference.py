"""The OpenAPI description as the template of the reference shows it; it has no other source."""

import json
import re
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString

from petstore_site.portal import samples
from petstore_site.portal.code import Example, block
from petstore_site.portal.description import description
from petstore_site.portal.documents import html_of, inline

Schema = dict[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")
PLACES = {"path": "Path parameters", "query": "Query parameters", "header": "Headers"}
JSON = "application/json"


@cache
def document() -> Schema:
    """Return the description."""
    read: Schema = json.loads(description())
    return read


@cache
def operations() -> list[dict[str, Any]]:
    """Return the operations, those of one tag together, deprecated ones last."""
    found = [
        _operation(path, method, item[method])
        for path, item in document()["paths"].items()
        for method in METHODS
        if method in item
    ]
    tags = [tag["name"] for tag in document()["tags"]]
    return sorted(found, key=lambda one: (tags.index(one["tag"]), one["deprecated"], "{" in one["path"]))


def context() -> dict[str, Any]:
    """Return what the template of the reference shows."""
    groups = [
        {
            "id": tag["name"],
            "title": tag["x-displayName"],
            "description": inline(tag["description"]),
            "operations": [one for one in operations() if one["tag"] == tag["name"]],
        }
        for tag in document()["tags"]
    ]
    return {
        "info": document()["info"],
        "introduction": html_of(document()["info"]["description"]),
        "servers": document()["servers"],
        "groups": groups,
        "schemas": list(_objects()),
    }


def _operation(path: str, method: str, operation: Schema) -> dict[str, Any]:
    responses = operation["responses"]
    body = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema")
    success = next(status for status in responses if status.startswith("2"))
    codes = list(_codes(operation))
    common = _common_codes()
    example = samples.request(path, method, operation, resolve)
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "path_html": SafeString(re.sub(r"(\{\w+\})", r'<span class="var">\1</span>', escape(path))),
        "tag": operation["tags"][0],
        "summary": operation["summary"],
        "description": html_of(operation["description"]),
        "deprecated": operation.get("deprecated", False),
        "parameter_groups": list(_parameter_groups(operation, example.path)),
        "body_fields": _fields(resolve(body)) if body else [],
        "body_example": example.body,
        "success": {"status": success, "text": inline(responses[success]["description"])},
        "response_headers": list(_response_headers(responses)),
        "header_names": " ".join(dict.fromkeys(header["name"] for header in _response_headers(responses))),
        "codes": [code["code"] for code in codes],
        "errors": [code for code in codes if code["code"] not in common],
        "common_errors": [code for code in codes if code["code"] in common],
        "sample": samples.sample(operation["summary"], example),
        "responses": list(_response_examples(responses)),
    }


def _parameter_groups(operation: Schema, path_values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for place, title in PLACES.items():
        fields = [
            _field(one["name"], one["schema"], one["description"], required=one["required"])
            | {"place": place, "value": path_values.get(one["name"], "")}
            for one in operation["parameters"]
            if one["in"] == place
        ]
        if fields:
            yield {"title": title, "fields": fields}


def _fields(schema: Schema) -> list[dict[str, Any]]:
    required = schema.get("required", [])
    return [
        _field(name, one, one.get("description", ""), required=name in required)
        for name, one in schema["properties"].items()
    ]


def _field(name: str, schema: Schema, text: str, *, required: bool) -> dict[str, Any]:
    resolved = resolve(schema)
    return {
        "name": name,
        "required": required,
        "description": inline(text),
        "type": "integer (int64)" if resolved.get("format") == "int64" else resolved["type"],
        "limits": _limits(resolved),
        "values": resolved.get("enum", []),
        "default": resolved.get("default", ""),
    }


def _limits(schema: Schema) -> str:
    if "maxLength" in schema:
        return f"{schema.get('minLength', 0)}–{schema['maxLength']} characters"  # noqa: RUF001 - a range
    if schema.get("maximum", 2**63) < 2**53:
        return f"{schema['minimum']}–{schema['maximum']}"  # noqa: RUF001 - a range
    return ""


def resolve(schema: Schema) -> Schema:
    """Return the schema that a reference names, else the schema itself."""
    inner: Schema = schema.get("allOf", [schema])[0]
    if "$ref" not in inner:
        return inner
    found = document()
    for part in inner["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def _codes(operation: Schema) -> Iterator[dict[str, Any]]:
    for status, response in operation["responses"].items():
        for code, example in response.get("content", {}).get(JSON, {}).get("examples", {}).items():
            if status >= "400":
                yield {"code": code, "status": status, "meaning": example["value"]["message"]}


@cache
def _common_codes() -> set[str]:
    every = [
        {code["code"] for code in _codes(operation)}
        for item in document()["paths"].values()
        for operation in item.values()
    ]
    return set.intersection(*every)


def _response_headers(responses: Schema) -> Iterator[dict[str, Any]]:
    """Yield each header of the operation once for each meaning, with the statuses that have it."""
    statuses: dict[tuple[str, str], list[str]] = {}
    for status, response in responses.items():
        for name, header in response["headers"].items():
            statuses.setdefault((name, header["$ref"]), []).append(status)
    for (name, reference), found in statuses.items():
        text = inline(resolve({"$ref": reference})["description"])
        yield {"name": name, "description": text, "statuses": [] if len(found) == len(responses) else found}


def _response_examples(responses: Schema) -> Iterator[Example]:
    for status, response in responses.items():
        phrase = f"{status} {HTTPStatus(int(status)).phrase}"
        examples = response.get("content", {}).get(JSON, {}).get("examples", {})
        head = header_lines(status, response["headers"])
        if not examples:
            yield block(phrase, f"HTTP/1.1 {phrase}\n{head}", "http")
        for name, example in examples.items():
            title = f"{status} {name}" if status >= "400" else phrase
            text = f"HTTP/1.1 {phrase}\nContent-Type: {JSON}\n{head}\n{json.dumps(example['value'], indent=2)}"
            yield block(title, text, "http")


def header_lines(status: str, headers: Schema) -> str:
    """Return the headers of a sample, those with an example. What is left of a limit is shown once nothing is."""
    lines = []
    for name, header in headers.items():
        schema = resolve(header)["schema"]
        shown = [schema["const"]] if name == "Sunset" and status < "400" else schema.get("examples", [])
        lines += [f"{name}: {value}\n" for value in shown if status == "429" or not name.startswith("RateLimit")]
    return "".join(lines)


def _objects() -> Iterator[dict[str, Any]]:
    for name, schema in document()["components"]["schemas"].items():
        if schema["type"] == "object":
            text = inline(schema.get("description", ""))
            yield {"id": f"schema-{name.lower()}", "name": name, "description": text, "fields": _fields(schema)}
