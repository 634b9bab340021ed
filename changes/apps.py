"""The application."""

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import pre_delete


class ChangesConfig(AppConfig):
    """What was done to animals."""

    name = "changes"

    def ready(self) -> None:
        from changes.undo import stop_with_owner  # noqa: PLC0415 - models come after apps

        pre_delete.connect(stop_with_owner, sender=settings.AUTH_USER_MODEL)
