"""The addresses of the portal."""

from django.urls import path

from petstore_site.portal import views

urlpatterns = [
    path("", views.landing_page, name="landing"),
    path("docs/", views.reference_page, name="docs"),
    path("docs/guide/", views.guide_page, name="guide"),
    path("docs/changelog/", views.changelog_page, name="changelog"),
    path("docs/changelog/feed.atom", views.changelog_feed, name="changelog-feed"),
    path("docs/errors/", views.error_list, name="error-list"),
    path("docs/errors/<str:code>", views.error_page, name="error-help"),
    path("docs/petstore.http", views.http_file, name="http-file"),
    path("docs/petstore.postman_collection.json", views.collection, name="collection"),
]
