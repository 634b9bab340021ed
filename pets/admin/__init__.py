"""The animals in the back office."""

from pets.admin import animals

__all__ = ["animals"]
