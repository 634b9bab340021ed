"""What `manage.py` runs: Django's utility, whose help begins with our commands."""

import gc
import sys

from django.conf import settings
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand

from commands import version


class Utility(ManagementUtility):
    """Django's utility, with a help that lists our commands first and says what each does."""

    def execute(self) -> None:
        """Run the command; `--version` prints ours, not Django's."""
        if self.argv[1:] in (["--version"], ["version"]):
            sys.stdout.write(f"{version()}\n")
        else:
            super().execute()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command. Everything is loaded then, and what is loaded stays: garbage is collected beside it."""
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.enable()
        return command

    def main_help_text(self, commands_only: bool = False) -> str:  # noqa: FBT001, FBT002 - Django's signature
        """Return the names, or the help; ours are those of the packages beside `manage.py`, each with a sentence."""
        text = super().main_help_text(commands_only)
        if commands_only or self.settings_exception is not None:
            return text
        folders = {path.name for path in settings.BASE_DIR.iterdir()}
        ours = sorted(name for name, app in get_commands().items() if app.partition(".")[0] in folders)
        lines = [f"    {name:20} {self.fetch_command(name).help.partition('. ')[0].rstrip('.')}." for name in ours]
        return "\n".join(["Commands of the Pet Store:\n", *lines, text])
