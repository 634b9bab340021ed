"""The service's addresses, and what takes longer than a request may. `slow_settings` serves them."""

import time

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from petstore_site import urls

SECONDS = 10


@csrf_exempt
def slow(request: HttpRequest) -> HttpResponse:
    time.sleep(SECONDS)
    return HttpResponse(request.method)


urlpatterns = [path("admin/slow/", slow), path("v1/slow", slow), *urls.urlpatterns]
