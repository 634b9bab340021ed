"""`manage.py recount_stock`: meant to run once a day."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from commands.exits import Exit, ExitError
from pets import stock


class Command(StoreCommand):
    """Counts all animals, beside those who write."""

    help = (
        "Count all animals, and put the result in place of the kept figures that the dashboard shows. Once a day it "
        "keeps them small; after rows were written without triggers, such as pg_restore --data-only, it corrects them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add whether to write."""
        parser.add_argument("--check", action="store_true", help="Compare only; the exit status is 1 if they differ.")

    def handle(self, **options: Any) -> None:
        """Count, and show what was wrong; raises `ExitError` if something is and stays so."""
        found = stock.differences() if options["check"] else stock.recount()
        figures = [figure._asdict() for figure in found]
        if found and options["check"]:
            message = f"{len(found):,} of the kept figures are wrong. recount_stock without --check corrects them."
            raise ExitError(message, status=Exit.FAILED, result={"figures": figures})
        corrected = f"{len(found):,} of the kept figures were wrong, and are right now."
        self.report(corrected if found else "The kept figures are right.", figures)
