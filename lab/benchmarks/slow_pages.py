"""The service's addresses, and a page of the back office that takes half a second of CPU."""

import time
from copy import copy

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path
from pets.models import Pet
from petstore_site import urls

SECONDS = 0.5


def slow(request: HttpRequest) -> HttpResponse:
    """Render the list of animals until the time is used."""
    began = time.thread_time()
    while time.thread_time() < began + SECONDS:
        page = admin.site.get_model_admin(Pet).changelist_view(copy(request))
        html = page.render().content  # type: ignore[attr-defined]  # it is a TemplateResponse
    return HttpResponse(html)


urlpatterns = [path("admin/slow/", admin.site.admin_view(slow)), *urls.urlpatterns]
