"""Animals, the imports that brought them, and the views of their list."""

from pets.models.animals import (
    REFERENCE_LENGTH,
    Pet,
    PetStatus,
    SavedView,
    StockMovement,
    validate_reference,
)
from pets.models.imports import (
    ENDED_EARLY,
    IMPORTED,
    STANDARD_INPUT,
    STANDING,
    ColumnProfile,
    ImportRun,
    ImportState,
    ImportUpload,
    UploadPart,
)

__all__ = [
    "ENDED_EARLY",
    "IMPORTED",
    "REFERENCE_LENGTH",
    "STANDARD_INPUT",
    "STANDING",
    "ColumnProfile",
    "ImportRun",
    "ImportState",
    "ImportUpload",
    "Pet",
    "PetStatus",
    "SavedView",
    "StockMovement",
    "UploadPart",
    "validate_reference",
]
