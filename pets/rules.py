"""What the fields of NewPet can be (interface document, section 2); the API and the import both ask here.

Each function takes a value as JSON's reader gives it, a number with a point or an exponent as a `Decimal`, and
returns what is stored. They raise `ValidationError` with a sentence that follows the field's name.
"""

from decimal import Decimal
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

from categories.names import NAME_LENGTH, visible_text
from pets.models import REFERENCE_LENGTH, PetStatus

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
EXACT_IN_A_DOUBLE = 2**53
"""From here on neighbouring integers written as `1.0` look the same to other JSON readers."""

STATUSES = frozenset(PetStatus.values)
REQUIRED = "is required."
NO_SUCH_CATEGORY = "must be the id of an existing category."

name = partial(visible_text, longest=NAME_LENGTH)
"""The name, kept exactly as sent."""

reference = partial(visible_text, longest=REFERENCE_LENGTH)
"""The store's own reference for an animal, kept exactly as sent."""


def identifier(value: Any) -> int:
    """Return the integer of 64 bits that the value is (`1.0` is one); whether such an id exists is not asked."""
    if isinstance(value, Decimal) and -EXACT_IN_A_DOUBLE < value < EXACT_IN_A_DOUBLE and value == int(value):
        return int(value)
    if type(value) is int and INT64_MIN <= value <= INT64_MAX:
        return value
    raise ValidationError("must be a 64-bit integer.")


def status(value: Any) -> str:
    """Return the status, exactly one of the three strings."""
    if not isinstance(value, str) or value not in STATUSES:
        raise ValidationError(f"must be one of {', '.join(PetStatus.values)}.")
    return value
