"""The public pages: the landing page, the API's description, and a page to read and try it."""

from functools import cache
from threading import Lock

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator

from petstore_site.public.error_pages import open_to_every_origin, read_only
from rest.api import revalidate
from rest.errors import ErrorCode
from rest.media_type import render_json

ICONS = {
    "production": "petstore/icon.svg",
    "staging": "petstore/icon-staging.svg",
    "development": "petstore/icon-development.svg",
}


def environment(_request: HttpRequest) -> dict[str, str]:
    """Return the template variables that show the environment: its name and the icon in the browser's tab."""
    name = settings.PETSTORE_ENVIRONMENT
    return {"petstore_environment": name, "petstore_icon": ICONS[name]}


@read_only
def landing(request: HttpRequest) -> HttpResponse:
    """Show the landing page, with three curl examples for this address."""
    return render(request, "landing.html", {"address": request.build_absolute_uri("/v1")})


@open_to_every_origin
@read_only
def description(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI description, the same for everyone, or 304 if the caller has it."""
    response = HttpResponse(_description(), content_type="application/json")
    revalidate(request, response)
    return response


_one_builds = Lock()  # drf-spectacular loads its extensions at the first use, which is not thread-safe


def _description() -> bytes:
    with _one_builds:
        return _built()


@cache
def _built() -> bytes:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return render_json(generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


@read_only
def docs(request: HttpRequest) -> HttpResponse:
    """Show the description; requests sent from the page go to this service."""
    return render(request, "docs.html", {"error_codes": list(ErrorCode)})
