"""The back office: Django's admin under the store's name."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse


class BackOffice(AdminSite):
    """The admin site that `PetstoreAdminConfig` makes the default one."""

    site_header = "Pet Store back office"
    site_title = "Pet Store back office"
    index_title = "Overview"

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the dashboard above the list of what there is."""
        from petstore_site.dashboard.panels import panels_for  # noqa: PLC0415 - it needs the models

        return super().index(request, {"panels": panels_for(request.user)} | (extra_context or {}))
