"""`manage.py recount_stock`: meant to run once a day."""

from typing import Any

from commands.base import StoreCommand
from pets import stock


class Command(StoreCommand):
    help = (
        "Count all animals and correct the stored figures that the dashboard shows. Run it once a day to keep them "
        "small, and after rows were written without triggers, such as by pg_restore --data-only."
    )

    def handle(self, **_options: Any) -> None:
        wrong = [figure._asdict() for figure in stock.recount()]
        text = f"Corrected {len(wrong):,} of the stored figures." if wrong else "The stored figures are correct."
        self.report(text, wrong)
