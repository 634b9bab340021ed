"""The addresses of the portal."""

from django.urls import path

from petstore_site.portal import views

urlpatterns = [
    path("", views.page, {"name": "landing"}, name="landing"),
    path("docs/", views.page, {"name": "reference"}, name="docs"),
    path("docs/guide/", views.page, {"name": "guide"}, name="guide"),
    path("docs/clients/", views.page, {"name": "clients"}, name="clients"),
    path("docs/clients/<str:name>", views.client_package, name="client-package"),
    path("docs/changelog/", views.page, {"name": "changelog"}, name="changelog"),
    path("favicon.ico", views.favicon),
    path("robots.txt", views.robots),
    path(".well-known/security.txt", views.security),
    path("docs/search.json", views.search_index, name="search-index"),
    path("docs/errors/<str:code>", views.page, {"name": "error"}, name="error-help"),
]
