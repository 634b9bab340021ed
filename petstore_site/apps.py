"""Registers the site's own checks and its admin with Django."""

from typing import Any

from django.apps import AppConfig
from django.contrib.admin import autodiscover
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register
from django.core.signals import request_finished
from django.db.backends.signals import connection_created
from simple_history.signals import pre_create_historical_record

from petstore_site.logs import forget_request
from rest.database_errors import watch_commits


class PetstoreSiteConfig(AppConfig):
    """The site itself: checks and commands that belong to no part of the catalogue."""

    name = "petstore_site"

    def ready(self) -> None:
        """Register the system checks, the watch over commits, the end of a request's id, and who changes what."""
        from history.actor import name_the_actor  # noqa: PLC0415 - it needs the models
        from petstore_site.configuration import checks  # noqa: F401, PLC0415 - importing registers

        connection_created.connect(watch_commits)
        request_finished.connect(forget_request)
        pre_create_historical_record.connect(name_the_actor)


class PetstoreAdminConfig(SimpleAdminConfig):
    """Django's admin with the store's titles and the ribbon of the environment.

    Its pages are loaded by what serves or checks them (`urls.py`), not by every command.
    """

    default_site = "petstore_site.back_office.BackOffice"

    def ready(self) -> None:
        """Register the checks of the admin, which load its pages first."""
        register(check_dependencies, Tags.admin)
        register(_check_admin, Tags.admin)


def _check_admin(**options: Any) -> list[CheckMessage]:
    autodiscover()
    return check_admin_app(**options)
