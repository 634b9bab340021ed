"""Keys and their use in the back office."""

from petstore_site.apikeys.admin import keys  # noqa: F401 - importing registers
