"""What is shown of a deleted animal, and to whom it can be restored."""

from typing import Any

from changes.numbers import row_number
from pets.models import Pet


def may_restore(request: Any) -> bool:
    """Return whether the user may see deleted animals and restore them."""
    return bool(request.user.has_perm("pets.restore_pet"))


def last_of(number: str) -> Any:
    """Return the last row of history of the animal with that ID, if it was deleted; else None."""
    if row_number(number) is None or Pet.objects.filter(pk=number).exists():
        return None
    return Pet.history.filter(id=number).select_related("category").order_by("-history_id").first()
