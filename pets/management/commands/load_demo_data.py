"""`manage.py load_demo_data`: something to look at in an empty database."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pets.demo import CatalogueNotEmptyError, load_demo_catalogue


class Command(BaseCommand):
    """Loads the demonstration catalogue."""

    help = "Fill an empty catalogue with a demonstration of a pet store; refuses if there is any animal."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, **options: Any) -> None:
        """Load and say how much."""
        try:
            categories, pets = load_demo_catalogue()
        except CatalogueNotEmptyError as error:
            raise CommandError(str(error)) from None
        loaded = {"categories": categories, "pets": pets}
        text = f"Loaded {pets} animals in {categories} categories."
        self.stdout.write(json.dumps(loaded) if options["json"] else text)
