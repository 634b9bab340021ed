"""Files for tools: requests for an editor, and a collection for Postman, Bruno and Insomnia."""

import re
from typing import Any

from django.conf import settings

from petstore_site.portal import reference
from petstore_site.portal.code import SERVED_URL
from rest.media_type import render_json

HTTP_FILE = settings.BASE_DIR / "docs" / "petstore.http"
COLLECTION_FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


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
        "variable": [{"key": "base", "value": f"{SERVED_URL}/v1"}, {"key": "key", "value": ""}],
        "item": [
            {"name": group["title"], "item": [_item(operation) for operation in group["operations"]]}
            for group in groups
        ],
    }
    return render_json(made).decode()


def _item(operation: dict[str, Any]) -> dict[str, Any]:
    fields = [field for group in operation["parameter_groups"] for field in group["fields"]]
    path = re.sub(r"\{(\w+)\}", r":\1", operation["path"])
    body = {"mode": "raw", "raw": operation["body_example"], "options": {"raw": {"language": "json"}}}
    request: dict[str, Any] = {
        "method": operation["method"],
        "header": [_value(field) for field in fields if field["place"] == "header"],
        "url": {
            "raw": f"{{{{base}}}}{path}",
            "host": ["{{base}}"],
            "path": path.strip("/").split("/"),
            "query": [_value(field) for field in fields if field["place"] == "query"],
            "variable": [
                {"key": field["name"], "value": str(field["value"])} for field in fields if field["place"] == "path"
            ],
        },
    }
    return {"name": operation["summary"], "request": request | ({"body": body} if operation["body_example"] else {})}


def _value(field: dict[str, Any]) -> dict[str, Any]:
    """Return an optional parameter, which the reader switches on."""
    return {"key": field["name"], "value": str(field["default"]), "disabled": True}
