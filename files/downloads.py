"""What the back office sends as a file."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import BinaryIO, cast

from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from files.export import IMPORTED, FileFormat, Form, write_pets
from files.spreadsheets import csv_lines, guarded
from pets.models import Pet

MOST_ANIMALS = {FileFormat.CSV: 100_000, FileFormat.XLSX: 20_000}
"""In one download, as the file is complete before it is sent. The command `export_pets` has no limit."""

MEMORY = 8 * 1024 * 1024
CONTENT_TYPES = {
    FileFormat.CSV: "text/csv; charset=utf-8",
    FileFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def download(pets: QuerySet[Pet], file_format: FileFormat, columns: Sequence[str]) -> FileResponse:
    """Return these columns of the animals as one consistent, formula-safe file; raises `ValueError` for the user."""
    form = Form(file_format=file_format, columns=tuple(columns), for_spreadsheets=True)
    most = MOST_ANIMALS[file_format]
    with _unhurried():
        # Without an order, as PostgreSQL may walk along the ids in the hope of meeting so many.
        if len(pets.order_by().values_list("pk")[: most + 1]) > most:
            larger = ", or choose CSV, which can hold more" if file_format is FileFormat.XLSX else ""
            message = (
                f"These are more than {most:,} animals. Filter for fewer{larger}. An operator can export all of them "
                "with manage.py export_pets."
            )
            raise ValueError(message)
        file = cast("BinaryIO", tempfile.SpooledTemporaryFile(MEMORY))  # noqa: SIM115 - the response closes it
        write_pets(pets, file, form=form)
    file.seek(0)
    name = f"animals-{timezone.now():%Y-%m-%d-%H%M}.{file_format}"
    return FileResponse(file, as_attachment=True, filename=name, content_type=CONTENT_TYPES[file_format])


def template(file_format: FileFormat) -> HttpResponse:
    """Return a file with the header alone, for new animals."""
    file = BytesIO()
    form = Form(file_format=file_format, columns=IMPORTED[1:], for_spreadsheets=True)
    write_pets(Pet.objects.filter(pk__lt=0), file, form=form)
    return HttpResponse(file.getvalue(), headers=headers(f"new-animals.{file_format}", file_format))


def csv_of(name: str, header: Sequence[str], parts: Iterable[Iterable[Sequence[str]]]) -> StreamingHttpResponse:
    """Return the lines as a formula-safe CSV file, which is sent while they are read, a part at a time: no limit."""
    return StreamingHttpResponse(_csv(header, parts), headers=headers(name, FileFormat.CSV))


def _csv(header: Sequence[str], parts: Iterable[Iterable[Sequence[str]]]) -> Iterator[bytes]:
    yield csv_lines([header])
    waiting = iter(parts)
    while True:
        with _unhurried():
            part = next(waiting, None)
        if part is None:
            return
        yield csv_lines([[guarded(text) for text in line] for line in part])


def headers(name: str, file_format: FileFormat) -> dict[str, str]:
    """Return what makes a response a file of this name."""
    disposition = content_disposition_header(as_attachment=True, filename=name) or ""
    return {"Content-Type": CONTENT_TYPES[file_format], "Content-Disposition": disposition}


@contextmanager
def _unhurried() -> Iterator[None]:
    """Give the statements in this block more time than a request has, and only them.

    What is set for longer than a transaction would, behind PgBouncer, stay with a connection that others get.
    """
    if connection.vendor != "postgresql":  # a transaction would keep writers out, and there is no deadline
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '30s'")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '30s'")
        yield
