"""Registers the request desk with Django."""

from django.apps import AppConfig


class RequestDeskConfig(AppConfig):
    """What happened to a request: records of errors and writes, kept for support."""

    name = "petstore_site.request_desk"
    verbose_name = "Request desk"
