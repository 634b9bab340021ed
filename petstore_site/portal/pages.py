"""What the portal shows: the landing page, the guide (docs/api.md), and a page for each error."""

import json
from itertools import groupby
from typing import Any

from django.conf import settings

from petstore_site.portal import documents, reference
from petstore_site.portal.code import block
from rest.errors import ErrorCode

GUIDE = settings.BASE_DIR / "docs" / "api.md"
ERRORS = settings.BASE_DIR / "docs" / "errors.md"

KEY = 'export PETSTORE_API_KEY="pets_live_…"'

RESPONSE = """\
HTTP/1.1 200 OK
Content-Type: application/json
Link: <https://petstore.example/v1/pets?limit=1&cursor=…>; rel="next"
ETag: "0dce53d9563a05fcfedf89eb5f5d67b0"
RateLimit: "default";r=598;t=60
X-Request-ID: a81be1255773477698061b6070677527

[
  {
    "id": 360,
    "name": "Biscuit",
    "categoryId": 5,
    "status": "available"
  }
]"""


HERO = """\
HTTP/1.1 200 OK
Content-Type: application/json

[
  {"id": 360, "name": "Biscuit", "categoryId": 5,
   "status": "available"},
  {"id": 358, "name": "Señor Bigotes", "categoryId": 3,
   "status": "available"},
  {"id": 357, "name": "ფუმფულა", "categoryId": 4,
   "status": "available"}
]"""
"""What the request beside it returns in the demonstration catalogue, as in README.md."""


def landing() -> dict[str, Any]:
    """Return what the API is, and a quick start in three languages."""
    operations = reference.operations()
    by_id = {operation["id"]: operation for operation in operations}
    return {
        "operations": operations,
        "list_pets": by_id["listPets"],
        "create_pet": by_id["createPet"],
        "key": block("Shell", KEY, "sh"),
        "hero": block("200 OK", HERO, "http"),
        "response": block("GET /v1/pets?limit=1", RESPONSE, "http"),
    }


def guide() -> dict[str, Any]:
    """Return the guide in groups of sections: headings of level 2, and of level 3 in them."""
    text = GUIDE.read_text(encoding="utf-8")
    grouped = groupby(documents.sections(text, 3), key=lambda found: found[0])
    groups = [{"title": title, "sections": [section for _, section in found]} for title, found in grouped]
    return {"introduction": documents.introduction(text), "groups": groups}


def error(code: ErrorCode) -> dict[str, Any]:
    """Return what `rest.errors` says about a code, and its section of docs/errors.md."""
    text = ERRORS.read_text(encoding="utf-8")
    section = next(found for _, found in documents.sections(text, 2) if found.id == code.value)
    status = f"{code.status.value} {code.status.phrase}"
    body = json.dumps({"code": code.value, "message": code.meaning, "status": code.status.value}, indent=2)
    responses = reference.document()["paths"]["/pets"]["post"]["responses"]  # of all that say more in a header
    head = reference.header_lines(str(code.status), responses.get(str(code.status), {"headers": {}})["headers"])
    response = f"HTTP/1.1 {status}\nContent-Type: application/json\n{head}Link: {code.help_link}\n\n{body}"
    return {
        "code": code,
        "cure": documents.inline(code.cure),
        "codes": list(ErrorCode),
        "section": section,
        "example": block(status, response, "http"),
        "operations": [operation for operation in reference.operations() if code.value in operation["codes"]],
    }
