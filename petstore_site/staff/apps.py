"""Register the staff's accounts with Django."""

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class StaffConfig(AppConfig):
    """Access to the back office: sign-in, sessions, passwords, roles."""

    name = "petstore_site.staff"
    verbose_name = "Staff"

    def ready(self) -> None:
        """Give a migrated database its roles, and note in each session when and how it was signed in."""
        from petstore_site.staff import sessions  # noqa: F401, PLC0415 - importing registers

        post_migrate.connect(_make_roles, sender=self)


def _make_roles(apps: Any = apps, **_signal: Any) -> None:
    from petstore_site.staff.roles import make_roles  # noqa: PLC0415 - models come after apps

    if "group" in apps.all_models["auth"]:  # else the database was migrated to a state before there were any
        make_roles()
