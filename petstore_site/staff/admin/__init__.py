"""Staff accounts and their roles in the back office."""

from petstore_site.staff.admin import members, roles  # noqa: F401 - importing registers
