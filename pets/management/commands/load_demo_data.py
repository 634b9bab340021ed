"""`manage.py load_demo_data`: something to look at in an empty database."""

from typing import Any

from commands.base import StoreCommand
from pets.demo import load_demo_catalogue


class Command(StoreCommand):
    help = "Fill an empty catalogue with the demonstration of a pet store. A catalogue with any animal is left alone."

    def handle(self, **_options: Any) -> None:
        categories, pets = load_demo_catalogue()
        self.report(f"Loaded {pets} animals in {categories} categories.", {"categories": categories, "pets": pets})
