"""The application."""

from django.apps import AppConfig
from simple_history.signals import pre_create_historical_record


class ChangesConfig(AppConfig):
    """What was done, and what the rows of history are a part of."""

    name = "changes"

    def ready(self) -> None:
        from changes.recording import note_change  # noqa: PLC0415 - models come after apps

        pre_create_historical_record.connect(note_change)
