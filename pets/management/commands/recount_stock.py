"""`manage.py recount_stock`: meant to run once a day."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from commands.exits import Exit, ExitError
from pets import stock


class Command(StoreCommand):
    help = (
        "Count all animals and correct the stored figures that the dashboard shows. Run it once a day to keep them "
        "small, and after rows were written without triggers, such as by pg_restore --data-only."
    )
    examples = ("", "--check")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="Compare only; the exit status is 1 if they differ.")

    def handle(self, **options: Any) -> None:
        """Count, and report what was wrong; raises `ExitError` if something is and stays so."""
        found = stock.differences() if options["check"] else stock.recount()
        figures = [figure._asdict() for figure in found]
        if found and options["check"]:
            message = f"{len(found):,} of the stored figures are wrong. To correct them: recount_stock"
            raise ExitError(message, status=Exit.FAILED, result=figures)
        text = f"Corrected {len(found):,} of the stored figures." if found else "The stored figures are correct."
        self.report(text, figures)
