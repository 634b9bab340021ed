"""A filtered list of animals as a file."""

import tempfile
from typing import BinaryIO, cast

from django.db.models import QuerySet
from django.http import FileResponse
from django.utils import timezone

from pets.exporting import FileFormat, Form, write_pets
from pets.models import Pet

MOST_ANIMALS = 100_000
"""That a page sends; the command `export_pets` has no bound."""

MEMORY = 8 * 1024 * 1024
CONTENT_TYPES = {
    FileFormat.CSV: "text/csv; charset=utf-8",
    FileFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def are_too_many(pets: QuerySet[Pet]) -> bool:
    """Return whether there are more animals than a page sends, without counting them all."""
    return bool(pets.order_by("pk").values("pk")[MOST_ANIMALS : MOST_ANIMALS + 1])


def download(pets: QuerySet[Pet], file_format: FileFormat) -> FileResponse:
    """Return the animals as one consistent, formula-safe file, which is written whole before its first byte is sent."""
    file = tempfile.SpooledTemporaryFile(MEMORY)  # the answer closes it
    write_pets(pets, cast("BinaryIO", file), form=Form(file_format=file_format, formula_safe=True))
    file.seek(0)
    name = f"animals-{timezone.now():%Y-%m-%d-%H%M}.{file_format}"
    answer = FileResponse(file, as_attachment=True, filename=name, content_type=CONTENT_TYPES[file_format])
    answer["Cache-Control"] = "no-store"
    return answer
