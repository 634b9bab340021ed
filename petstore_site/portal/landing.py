"""The landing page: what the API is, and a quick start in three languages."""

from typing import Any

from petstore_site.portal import reference
from petstore_site.portal.code import block

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
  {"id": 360, "name": "Biscuit", "categoryId": 5, "status": "available"},
  {"id": 358, "name": "Señor Bigotes", "categoryId": 3, "status": "available"},
  {"id": 357, "name": "ფუმფულა", "categoryId": 4, "status": "available"}
]"""
"""What the request beside it returns in the demonstration catalogue, as in README.md."""


def context() -> dict[str, Any]:
    """Return what the template of the landing page shows."""
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
