"""Files for tools: requests for an editor, and a collection for Postman, Bruno and Insomnia."""

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings

from petstore_site.portal import reference
from petstore_site.portal.code import SERVED_URL
from rest.media_type import render_json

HTTP_FILE = settings.BASE_DIR / "docs" / "petstore.http"
COLLECTION_FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

VARIABLES = {"key": "", "idempotencyKey": "{{$guid}}"}
"""Variable of the collection → its value. `{{$guid}}` is a new ID each time; a fixed text shows the replay."""


def http_file() -> str:
    """Return docs/petstore.http for this service."""
    text = HTTP_FILE.read_text(encoding="utf-8").replace("pets_test_", settings.API_KEY_PREFIX)
    return re.sub(r"^@host = .*$", f"@host = {SERVED_URL}", text, flags=re.MULTILINE)


def collection() -> str:
    """Return the operations as a collection in JSON; the key is a variable of it."""
    groups = reference.context()["groups"]
    made = {
        "info": {"name": "Pet Store API", "schema": COLLECTION_FORMAT},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{key}}", "type": "string"}]},
        "variable": [
            {"key": name, "value": value} for name, value in {"base": f"{SERVED_URL}/v1", **VARIABLES}.items()
        ],
        "item": [
            {"name": group["title"], "item": [_item(operation) for operation in group["operations"]]}
            for group in groups
        ],
    }
    return render_json(made).decode()


def _item(operation: dict[str, Any]) -> dict[str, Any]:
    body = {"mode": "raw", "raw": operation["body_example"], "options": {"raw": {"language": "json"}}}
    fields = [field for group in operation["parameter_groups"] for field in group["fields"]]
    request: dict[str, Any] = {
        "method": operation["method"],
        "header": [_value(field) for field in fields if field["place"] == "header"],
        "url": _url(operation["path"], fields),
    }
    return {
        "name": operation["summary"],
        "request": request | ({"body": body} if operation["body_example"] else {}),
        "event": [{"listen": "test", "script": {"type": "text/javascript", "exec": list(_tests(operation))}}],
    }


def _url(path: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    filled = re.sub(r"\{(\w+)\}", r":\1", path)
    return {
        "raw": f"{{{{base}}}}{filled}",
        "host": ["{{base}}"],
        "path": filled.strip("/").split("/"),
        "query": [_value(field) for field in fields if field["place"] == "query"],
        "variable": [
            {"key": field["name"], "value": str(field["value"])} for field in fields if field["place"] == "path"
        ],
    }


def _tests(operation: dict[str, Any]) -> Iterator[str]:
    """Yield the script that Postman runs after a response: its status, its type, and what every response has."""
    status = operation["success"]["status"]
    yield f'pm.test("Status {status}", () => pm.response.to.have.status({status}));'
    yield 'pm.test("JSON", () => pm.expect(pm.response.headers.get("Content-Type")).to.equal("application/json"));'
    yield 'pm.test("X-Request-ID", () => pm.response.to.have.header("X-Request-ID"));'
    if operation["id"].startswith("list"):
        yield 'pm.test("A list", () => pm.expect(pm.response.json()).to.be.an("array"));'
    else:
        yield 'pm.test("An ID", () => pm.expect(pm.response.json().id).to.be.a("number"));'


def _value(field: dict[str, Any]) -> dict[str, Any]:
    """Return an optional parameter. The reader switches it on; the Idempotency-Key is on from the start."""
    if field["name"] == "Idempotency-Key":
        return {"key": field["name"], "value": "{{idempotencyKey}}"}
    return {"key": field["name"], "value": str(field["default"]), "disabled": True}
