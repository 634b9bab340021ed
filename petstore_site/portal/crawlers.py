"""What browsers and search engines ask every site for."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import escape

from petstore_site.public.environment import environment
from petstore_site.public.errors import read_only
from rest.errors import CODES

PAGES = ("landing", "docs", "guide", "clients", "changelog")


def addresses() -> list[str]:
    """Return the path of each page of the portal."""
    return [*map(reverse, PAGES), *(reverse("error-help", args=[code]) for code in CODES)]


@read_only
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon of this environment."""
    return HttpResponseRedirect(static(environment(request)["petstore_icon"]))


@read_only
def robots(request: HttpRequest) -> HttpResponse:
    """Allow the portal of production, and nothing of the other environments: search engines would show both."""
    if settings.PETSTORE_ENVIRONMENT != "production":
        return HttpResponse("User-agent: *\nDisallow: /\n", content_type="text/plain")
    text = f"User-agent: *\nDisallow: {reverse('admin:index')}\nDisallow: {settings.BASE_PATH}/v1/\n"
    sitemap_url = request.build_absolute_uri(reverse("sitemap"))
    return HttpResponse(f"{text}Sitemap: {sitemap_url}\n", content_type="text/plain")


@read_only
def sitemap(request: HttpRequest) -> HttpResponse:
    """Return the pages of the portal in the form of sitemaps.org."""
    urls = "".join(f"<url><loc>{escape(request.build_absolute_uri(path))}</loc></url>" for path in addresses())
    text = f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    return HttpResponse(text, content_type="application/xml")
