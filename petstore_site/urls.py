"""Every URL of the service."""

from django.contrib import admin
from django.urls import include, path, re_path

from petstore_site.apikeys import schema  # noqa: F401 - importing registers it with drf-spectacular
from petstore_site.portal import description
from petstore_site.serving import health
from rest.viewsets import UnknownRouteView

admin.autodiscover()

urlpatterns = [
    path("v1/", include("pets.urls")),
    path("v1/", include("categories.urls")),
    re_path(r"^v1(?:/[\s\S]*)?\Z", UnknownRouteView.as_view(), name="unknown-route"),
    path("", include("petstore_site.portal.urls")),
    path("openapi.json", description.openapi, name="description"),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("admin/account/", include("petstore_site.staff.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "petstore_site.errors.bad_request"
handler403 = "petstore_site.errors.permission_denied"
handler404 = "petstore_site.portal.views.not_found"
handler429 = "petstore_site.errors.too_many_requests"
handler500 = "petstore_site.errors.server_error"
