"""The addresses of the portal."""

from django.urls import path, re_path

from petstore_site.portal import crawlers, markdown, views

urlpatterns = [
    path("", views.page, {"name": "landing"}, name="landing"),
    path("docs/", views.page, {"name": "reference"}, name="docs"),
    path("docs/reference/", views.reference_alias),
    path("docs/guide/", views.page, {"name": "guide"}, name="guide"),
    path("docs/clients/", views.page, {"name": "clients"}, name="clients"),
    path("docs/clients/<str:name>", views.client_package, name="client-package"),
    path("docs/changelog/", views.page, {"name": "changelog"}, name="changelog"),
    path("docs/changelog/feed.atom", views.changelog_feed, name="changelog-feed"),
    path("llms.txt", views.llms, name="llms"),
    re_path(rf"^docs/({'|'.join(markdown.PAGES)})\.md\Z", views.markdown_page, name="markdown"),
    path("docs/errors/<str:code>.md", views.markdown_error, name="error-markdown"),
    path("favicon.ico", crawlers.favicon),
    path("robots.txt", crawlers.robots),
    path("sitemap.xml", crawlers.sitemap, name="sitemap"),
    path("docs/search.json", views.search_index, name="search-index"),
    path("docs/errors/", views.error_list, name="error-list"),
    path("docs/errors/<str:code>", views.error_page, name="error-help"),
    path("docs/petstore.http", views.http_file, name="http-file"),
    path("docs/petstore.postman_collection.json", views.collection, name="collection"),
]
