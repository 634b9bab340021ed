"""The pages of the portal. Each is rendered once per process, and sent with the address it is asked for at."""

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from html import escape
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotFound, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from commands.version import version as release
from petstore_site.portal import (
    changelog,
    clients,
    crawlers,
    downloads,
    error_help,
    guide,
    landing,
    markdown,
    reference,
    search,
)
from petstore_site.portal.code import SERVED_HOST, SERVED_ORIGIN, SERVED_URL
from petstore_site.public import errors
from petstore_site.public.environment import environment
from petstore_site.public.errors import read_only
from rest.errors import CODES
from rest.media_type import render_json
from rest.responses import revalidate

HTML = "text/html; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"


@gzip_page
@read_only
def page(request: HttpRequest, name: str) -> HttpResponse:
    """Show the landing page, the guide, the reference, the clients or the changelog."""
    return _page(request, name)


@gzip_page
@read_only
def error_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show what an error means and what to do; other names than codes are not found."""
    if code not in CODES:
        raise Http404
    return _page(request, "error", code)


@read_only
def reference_alias(_request: HttpRequest) -> HttpResponse:
    """Redirect to the reference from the address that people guess."""
    return HttpResponseRedirect(reverse("docs"))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a page with suggestions to a browser that asks for an unknown page of the portal, else an Error."""
    if not wants_page(request):
        return errors.not_found(request, exception)
    near = get_close_matches(request.path, crawlers.addresses(), n=3, cutoff=0.5)
    response = HttpResponseNotFound(_text("not_found", {"near": near}), content_type=HTML)
    response["Vary"] = "Accept"
    return response


def wants_page(request: HttpRequest) -> bool:
    """Return whether a person reads the response: a browser asks, and not for the API or the back office."""
    ours = request.path_info.startswith(("/v1/", errors.PEOPLE))
    return request.method in {"GET", "HEAD"} and not ours and "text/html" in request.headers.get("Accept", "")


@read_only
def error_list(_request: HttpRequest) -> HttpResponse:
    """Redirect to the list of error codes."""
    return HttpResponseRedirect(f"{reverse('guide')}#error-codes")


@gzip_page
@read_only
def search_index(request: HttpRequest) -> HttpResponse:
    """Return what the search finds, as JSON: one row for each entry of `petstore_site.portal.search`."""
    return _served(request, _built(_search_index), "application/json")


@gzip_page
@read_only
def markdown_page(request: HttpRequest, name: str) -> HttpResponse:
    """Return a page as Markdown."""
    return _served(request, _markdown(name, ""), MARKDOWN)


@gzip_page
@read_only
def markdown_error(request: HttpRequest, code: str) -> HttpResponse:
    """Return the page of an error as Markdown; other names than codes are not found."""
    if code not in CODES:
        raise Http404
    return _served(request, _markdown("error", code), MARKDOWN)


@read_only
def llms(request: HttpRequest) -> HttpResponse:
    """Return what a language model should read, and where."""
    return _served(request, _built(markdown.llms), "text/plain; charset=utf-8")


@read_only
def changelog_feed(request: HttpRequest) -> HttpResponse:
    """Return the changelog as an Atom feed."""
    return _served(request, _built(changelog.feed), "application/atom+xml; charset=utf-8")


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


@read_only
def http_file(request: HttpRequest) -> HttpResponse:
    """Return requests to send from an editor."""
    return _download(request, _built(downloads.http_file), "petstore.http", "text/plain; charset=utf-8")


@read_only
def collection(request: HttpRequest) -> HttpResponse:
    """Return the operations as a collection."""
    return _download(request, _built(downloads.collection), "petstore.postman_collection.json", "application/json")


CONTEXTS: dict[str, Callable[[], dict[str, Any]]] = {
    "landing": landing.context,
    "guide": guide.context,
    "reference": reference.context,
    "clients": clients.context,
    "changelog": changelog.context,
}


@cache
def _rendered(name: str, code: str) -> str:
    """Return a page with a placeholder for the address of the service."""
    return _text(name, error_help.context(CODES[code]) if code else CONTEXTS[name]())


@cache
def _markdown(name: str, code: str) -> str:
    return markdown.error(CODES[code]) if code else markdown.page(name)


def _text(name: str, content: dict[str, Any]) -> str:
    shown = {
        "page": name,
        "served_url": SERVED_URL,
        "base_path": settings.BASE_PATH,
        "served_host": SERVED_HOST,
        "key_prefix": settings.API_KEY_PREFIX,
        "markdown": markdown.address(name, str(content.get("code", ""))),
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


def _search_index() -> str:
    found = [
        search.whole(
            "Errors",
            reverse("error-help", args=[name]),
            _rendered("error", name),
            also=f"{code.status.value} {code.status.phrase}",
        )
        for name, code in CODES.items()
    ]
    for name, (route, title) in SEARCHED.items():
        found += search.entries(title, reverse(route), _rendered(name, ""))
    kept = map(search.with_synonyms, search.without_copies(found))
    return render_json([list(entry) for entry in kept]).decode()


@cache
def _built(build: Callable[[], str]) -> str:
    return build()


def _page(request: HttpRequest, name: str, code: str = "") -> HttpResponse:
    return _served(request, _rendered(name, code), HTML)


def _served(request: HttpRequest, text: str, content_type: str) -> HttpResponse:
    """Return a text with the address of this service, or 304 if the caller has it."""
    address = escape(request.build_absolute_uri("/").rstrip("/"))
    text = text.replace(SERVED_ORIGIN, address).replace(SERVED_HOST, escape(request.get_host()))
    response = HttpResponse(text, content_type=content_type)
    revalidate(request, response)
    return response


def _download(request: HttpRequest, text: str, name: str, content_type: str) -> HttpResponse:
    response = _served(request, text, content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
