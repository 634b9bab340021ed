"""`manage.py recount_stock`: meant to run once a day."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pets import stock
from pets.management.telling import tell


class Command(BaseCommand):
    """Counts all animals, beside those who write."""

    help = (
        "Count all animals, and put the result in place of the kept figures that the dashboard shows. Once a day it "
        "keeps them small; after rows were written without triggers, such as pg_restore --data-only, it mends them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add whether to write, and how to print."""
        parser.add_argument("--check", action="store_true", help="Compare only; the exit status is 1 if they differ.")
        parser.add_argument("--json", action="store_true", help="Print a JSON array of the figures that were wrong.")

    def handle(self, **options: Any) -> None:
        """Count, and say what was wrong; raises `CommandError` if something is and stays so."""
        found = stock.differences() if options["check"] else stock.recount()
        if options["json"]:
            tell(self, json.dumps([figure._asdict() for figure in found]))
        elif not found:
            tell(self, "The kept figures are right.")
        elif not options["check"]:
            tell(self, f"{len(found):,} of the kept figures were wrong, and are right now.")
        if found and options["check"]:
            message = f"{len(found):,} of the kept figures are wrong; recount_stock without --check mends them."
            raise CommandError(message)
