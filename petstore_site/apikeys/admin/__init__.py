"""Keys, their use and the request desk in the back office."""

from petstore_site.apikeys.admin import keys, request_desk, use  # noqa: F401 - importing registers
