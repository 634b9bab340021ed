"""What the pages that Django's admin does not know ask of their user."""

from typing import Any

SEE_ANIMALS = ("pets.view_pet", "pets.change_pet")
"""Any of these opens the list."""


def may_see_animals(request: Any) -> bool:
    """Return whether the user can open the list."""
    return any(map(request.user.has_perm, SEE_ANIMALS))


def may_see_imports(user: Any) -> bool:
    """Return whether the user can see what imports did, or import files."""
    return any(map(user.has_perm, ("pets.view_importrun", "pets.add_importrun")))
