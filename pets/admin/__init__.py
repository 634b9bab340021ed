"""The catalogue in the back office: a room for the animals and one for the files they came from."""

from pets.admin import animals, imports

__all__ = ["animals", "imports"]
