"""`/openapi.json`: the description of the API."""

from functools import cache
from threading import Lock

from django.http import HttpRequest, HttpResponse
from drf_spectacular.generators import SchemaGenerator

from petstore_site.errors import open_to_every_origin, read_only
from rest.media_type import render_json
from rest.responses import revalidate

_one_builds = Lock()  # drf-spectacular loads its extensions at the first use, which is not thread-safe


@open_to_every_origin
@read_only
def openapi(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI description, the same for everyone, or 304 if the caller has it."""
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
