"""The application, and what must be true of its tables after every migration."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed_apps
from django.db.models.signals import post_migrate


class PetsConfig(AppConfig):
    """Animals, their history and their imports."""

    name = "pets"

    def ready(self) -> None:
        post_migrate.connect(restore_triggers, sender=self)


def restore_triggers(*, verbosity: int = 1, apps: Any = installed_apps, **_signal: Any) -> None:
    """Receive `post_migrate`: install the triggers again if a migration made SQLite rebuild the table of animals.

    What was written without them is counted too.
    """
    from pets import stock, triggers  # noqa: PLC0415 - they need the models

    try:
        apps.get_model("pets", "EndedSale")
    except LookupError:  # migrated back to before the triggers
        return
    if triggers.installed() >= triggers.TRIGGERS:
        return
    triggers.install()
    wrong = stock.recount()
    if verbosity:
        print(f"Installed the triggers of pets_pet again. Corrected {len(wrong):,} of the stored figures.")  # noqa: T201
