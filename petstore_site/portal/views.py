"""The pages of the portal, and the index of its search. Each is made once per process, without its host."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from html import escape
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotFound, HttpResponseRedirect
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page

from petstore_site import errors
from petstore_site import version as release
from petstore_site.errors import read_only
from petstore_site.portal import changelog, clients, pages, reference, search
from petstore_site.portal.code import SERVED_HOST, SERVED_ORIGIN, SERVED_URL
from petstore_site.portal.environment import environment
from rest.errors import CODES
from rest.media_type import render_json
from rest.responses import revalidate

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"


@gzip_page
@read_only
def page(request: HttpRequest, name: str, code: str = "") -> HttpResponse:
    """Show the landing page, the guide, the reference, the clients, the changelog, or what an error means."""
    if code and code not in CODES:
        raise Http404
    return _served(request, _rendered(name, code), HTML)


@gzip_page
@read_only
def search_index(request: HttpRequest) -> HttpResponse:
    """Return what the search finds."""
    return _served(request, _search_index(), "application/json")


@read_only
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon of this environment."""
    return HttpResponseRedirect(static(environment(request)["petstore_icon"]))


@read_only
def robots(_request: HttpRequest) -> HttpResponse:
    """Allow the portal of production, and nothing of the other environments: search engines would show both."""
    if settings.PETSTORE_ENVIRONMENT != "production":
        return HttpResponse("User-agent: *\nDisallow: /\n", content_type="text/plain")
    text = f"User-agent: *\nDisallow: {reverse('admin:index')}\nDisallow: {settings.BASE_PATH}/v1/\n"
    return HttpResponse(text, content_type="text/plain")


@read_only
def security(_request: HttpRequest) -> HttpResponse:
    """Return where to report a vulnerability (RFC 9116), for half a year. Without an address there is no such file."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = f"{timezone.now() + timedelta(days=182):%Y-%m-%d}T00:00:00Z"
    text = f"Contact: {settings.SECURITY_CONTACT}\nExpires: {expires}\nPreferred-Languages: en\n"
    return HttpResponse(text, content_type=TEXT)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a page to a browser that asks for an unknown page of the portal, else an Error."""
    if not wants_page(request):
        return errors.not_found(request, exception)
    response = HttpResponseNotFound(_text("not_found", {}), content_type=HTML)
    response["Vary"] = "Accept"
    return response


def wants_page(request: HttpRequest) -> bool:
    """Return whether a person reads the response: a browser asks, and not for the API or the back office."""
    ours = request.path_info.startswith(("/v1/", errors.PEOPLE))
    return request.method in {"GET", "HEAD"} and not ours and "text/html" in request.headers.get("Accept", "")


@read_only
def client_package(request: HttpRequest, name: str) -> HttpResponse:
    """Return a package to install a client from."""
    file = clients.packages().get(name)
    if file is None:
        raise Http404
    response = HttpResponse(file.read_bytes(), content_type=clients.MEDIA_TYPES[file.suffix])
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    revalidate(request, response)
    return response


CONTEXTS: dict[str, Callable[[], dict[str, Any]]] = {
    "landing": pages.landing,
    "guide": pages.guide,
    "reference": reference.context,
    "clients": clients.context,
    "changelog": changelog.context,
}


@cache
def _rendered(name: str, code: str) -> str:
    """Return a page with a placeholder for the address of the service."""
    return _text(name, pages.error(CODES[code]) if code else CONTEXTS[name]())


def _text(name: str, content: dict[str, Any]) -> str:
    shown = {
        "page": name,
        "served_url": SERVED_URL,
        "base_path": settings.BASE_PATH,
        "served_host": SERVED_HOST,
        "key_prefix": settings.API_KEY_PREFIX,
        "release": release(),
        "version": settings.SPECTACULAR_SETTINGS["VERSION"],
    }
    return render_to_string(f"portal/{name}.html", shown | environment(HttpRequest()) | content)


SEARCHED = {
    "guide": ("guide", "Guide"),
    "reference": ("docs", "API reference"),
    "clients": ("clients", "Clients"),
    "changelog": ("changelog", "Changelog"),
}
"""Pages of the search: the name of the URL, and of the page. Errors are searched too."""


@cache
def _search_index() -> str:
    found = [
        search.whole(
            "Errors",
            reverse("error-help", args=[name]),
            _rendered("error", name),
            also=f"{code.status.value} {code.status.phrase} error",
        )
        for name, code in CODES.items()
    ]
    for name, (route, title) in SEARCHED.items():
        found += search.entries(title, reverse(route), _rendered(name, ""))
    kept = map(search.with_synonyms, search.without_copies(found))
    return render_json([list(entry) for entry in kept]).decode()


def _served(request: HttpRequest, text: str, content_type: str) -> HttpResponse:
    """Return a text with the address of this service, or 304 if the caller has it."""
    address = escape(request.build_absolute_uri("/").rstrip("/"))
    text = text.replace(SERVED_ORIGIN, address).replace(SERVED_HOST, escape(request.get_host()))
    response = HttpResponse(text, content_type=content_type)
    revalidate(request, response)
    return response
