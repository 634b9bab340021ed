"""Registers the API keys with Django."""

from django.apps import AppConfig


class ApikeysConfig(AppConfig):
    """Access to the API: bearer keys, their life and their use."""

    name = "petstore_site.apikeys"
    verbose_name = "API keys"
