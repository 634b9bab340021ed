"""Register the site's own checks and its admin with Django."""

import gc
import sys
from typing import Any

from django.apps import AppConfig
from django.contrib.admin import autodiscover
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register
from django.core.signals import request_finished, request_started
from django.db.backends.signals import connection_created
from simple_history.signals import pre_create_historical_record

from database.errors import drop_closed, watch_commits
from database.search import add_fold
from history.acting import begin_command, end_request, sign


class PetstoreSiteConfig(AppConfig):
    """The project itself: checks and commands that belong to no other app."""

    name = "petstore_site"

    def ready(self) -> None:
        """Register the system checks, and the signals for commits, the search, request IDs and the history."""
        from petstore_site.configuration import checks  # noqa: F401, PLC0415 - importing registers

        connection_created.connect(watch_commits)
        connection_created.connect(add_fold)
        request_started.connect(drop_closed)
        request_finished.connect(end_request)
        pre_create_historical_record.connect(sign)
        begin_command(sys.argv)
        if not gc.isenabled():  # `manage.py` begins so; all is loaded now, and stays
            gc.freeze()
            gc.enable()


class PetstoreAdminConfig(SimpleAdminConfig):
    """Django's admin with the store's titles and the ribbon of the environment.

    Its pages are loaded by what serves or checks them (`urls.py`), not by every command.
    """

    default_site = "petstore_site.back_office.site.BackOffice"

    def ready(self) -> None:
        """Register the checks of the admin, which load its pages first."""
        register(check_dependencies, Tags.admin)
        register(_check_admin, Tags.admin)


def _check_admin(**options: Any) -> list[CheckMessage]:
    autodiscover()
    return check_admin_app(**options)
