"""A request to an operation in three languages, made of the description's examples."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from petstore_site.portal import code
from petstore_site.portal.code import DOCUMENTED_URL, Example

Schema = dict[str, Any]

FEW = 3
"""What a sample sends as a limit."""

NEW_KEY = "$(head -c 16 /dev/urandom | base64)"
"""A new key each time the sample runs, in any shell: not every system has `uuidgen` or `openssl`."""


class SampleRequest(NamedTuple):
    """A request that works with the demonstration catalogue."""

    method: str
    url: str
    path: dict[str, Any]
    query: dict[str, Any]
    body: str
    idempotent: bool
    """Whether it sends an `Idempotency-Key`."""


def request(path: str, method: str, operation: Schema, resolve: Callable[[Schema], Schema]) -> SampleRequest:
    """Return the example of a request; the values are those of the operation's example response."""
    parameters = operation["parameters"]
    returned = _returned(operation)
    path_values = {one["name"]: returned["id"] for one in parameters if one["in"] == "path"}
    schemas = {one["name"]: resolve(one["schema"]) for one in parameters if one["in"] == "query"}
    query = {name: value for name, schema in schemas.items() if (value := _value(schema)) is not None}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    fields: Schema = resolve(body) if body else {"properties": {}}
    least = fields["required" if "required" in fields else "properties"]  # a change needs at least one of its fields
    sent = {name: returned[name] for name in fields["properties"] if name in least}
    return SampleRequest(
        method.upper(),
        f"{DOCUMENTED_URL}/v1{path.format(**path_values)}",
        path_values,
        query,
        json.dumps(sent) if sent else "",
        any(one["name"] == "Idempotency-Key" for one in parameters),
    )


def _returned(operation: Schema) -> Schema:
    success = next(response for status, response in operation["responses"].items() if status.startswith("2"))
    (example,) = success["content"]["application/json"]["examples"].values()
    value: Schema = example["value"][0] if isinstance(example["value"], list) else example["value"]
    return value


def _value(schema: Schema) -> Any:
    """Return a value of a query parameter, None for one that has no example."""
    if "enum" in schema:
        return schema["enum"][0]
    return FEW if "default" in schema else None


def sample(title: str, one: SampleRequest) -> Example:
    """Return the request in every language."""
    return code.sample(title, {"sh": _curl(one), "python": _python(one), "ts": _typescript(one)})


def _with_query(one: SampleRequest) -> str:
    return one.url + (f"?{urlencode(one.query)}" if one.query else "")


def _curl(one: SampleRequest) -> str:
    lines = [f'curl "{_with_query(one)}"', '-H "Authorization: Bearer $PETSTORE_API_KEY"']
    if one.idempotent:
        lines.append(f'-H "Idempotency-Key: {NEW_KEY}"')
    if one.body:
        lines += ['-H "Content-Type: application/json"', f"-d '{one.body}'"]
    return " \\\n  ".join(lines)


def _python(one: SampleRequest) -> str:
    idempotent = '\n        "Idempotency-Key": str(uuid.uuid4()),' if one.idempotent else ""
    arguments = [
        f'"{one.url}"',
        f'headers={{\n        "Authorization": f"Bearer {{key}}",{idempotent}\n    }}',
        *([f"params={json.dumps(one.query)}"] if one.query else []),
        *([f"json={one.body}"] if one.body else []),
        "timeout=10",
    ]
    return "\n".join(
        [
            "import os",
            *(["import uuid"] if one.idempotent else []),
            "import requests",
            "",
            'key = os.environ["PETSTORE_API_KEY"]',
            f"response = requests.{one.method.lower()}(",
            *(f"    {argument}," for argument in arguments),
            ")",
            "response.raise_for_status()",
            "print(response.json())",
        ]
    )


def _typescript(one: SampleRequest) -> str:
    headers = ["Authorization: `Bearer ${key}`,"]
    headers += ['"Content-Type": "application/json",'] if one.body else []
    headers += ['"Idempotency-Key": crypto.randomUUID(),'] if one.idempotent else []
    return "\n".join(
        [
            "const key = process.env.PETSTORE_API_KEY;",
            f'const url = "{_with_query(one)}";',
            "",
            "const response = await fetch(url, {",
            *([f'  method: "{one.method}",'] if one.method != "GET" else []),
            "  headers: {",
            *(f"    {header}" for header in headers),
            "  },",
            *([f"  body: JSON.stringify({one.body}),"] if one.body else []),
            "});",
            "if (!response.ok) throw new Error(await response.text());",
            "console.log(await response.json());",
        ]
    )
