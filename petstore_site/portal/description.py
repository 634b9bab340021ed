"""`/openapi.json`: the description of the API."""

from functools import cache
from threading import Lock

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator

from petstore_site.errors import read_only
from rest.media_type import render_json
from rest.responses import revalidate

_one_builds = Lock()  # drf-spectacular loads its extensions at the first use, which is not thread-safe


@csrf_exempt
def openapi(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI description. Scripts of every origin can read it (CORS): it is the same for everyone."""
    response = _described(request)
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Expose-Headers"] = "ETag, X-Request-ID"
    if request.method == "OPTIONS":
        response["Access-Control-Allow-Headers"] = "*"
    return response


@read_only
def _described(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(description(), content_type="application/json")
    revalidate(request, response)
    return response


def description() -> bytes:
    """Return the OpenAPI description as JSON."""
    with _one_builds:
        return _built()


@cache
def _built() -> bytes:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return render_json(generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
