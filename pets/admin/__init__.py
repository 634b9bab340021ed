"""The catalogue in the back office: rooms for the animals, for changing many, and for the files they came from."""

from pets.admin import animals, bulk, imports

__all__ = ["animals", "bulk", "imports"]
