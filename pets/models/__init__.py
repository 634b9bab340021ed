"""Animals, the imports that brought them, and the views of their list."""

from pets.models.animals import (
    REFERENCE_LENGTH,
    EndedSale,
    Pet,
    PetStatus,
    Sale,
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
    "EndedSale",
    "ImportRun",
    "ImportState",
    "ImportUpload",
    "Pet",
    "PetStatus",
    "Sale",
    "SavedView",
    "StockMovement",
    "UploadPart",
    "validate_reference",
]
