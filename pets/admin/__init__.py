"""The catalogue in the back office: rooms for the animals and for changing many."""

from pets.admin import animals, bulk

__all__ = ["animals", "bulk"]
