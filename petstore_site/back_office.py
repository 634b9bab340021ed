"""The back office: Django's admin under the store's name."""

from django.contrib.admin import AdminSite


class BackOffice(AdminSite):
    """The admin site that `PetstoreAdminConfig` makes the default one."""

    site_header = "Pet Store back office"
    site_title = "Pet Store back office"
    index_title = "Overview"
