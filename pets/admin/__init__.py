"""The catalogue in the back office: a room for the animals and what is done with many, one for the files they came from."""

from pets.admin import animals, bulk, imports

__all__ = ["animals", "bulk", "imports"]
