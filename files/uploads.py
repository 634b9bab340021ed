"""The files of the back office: kept from the first look to the import, with how each is read."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from categories.models import Category
from files.errors import ImportRejectedError
from files.matching import Choice, Match, match, remember, understood
from files.options import Options
from files.readers import read
from files.readers.rows import Reading
from files.source import Source
from pets.columns import CATEGORY, REFERENCE
from pets.models import ImportUpload, UploadPart

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile  # generic for mypy only

LARGEST_WORKBOOK = 32 * 1024 * 1024  # bytes that are unpacked of an XLSX file. It takes some seconds

MATCHED = ("encoding", "delimiter", "header_row", "columns", "defaults")
"""What is found out or chosen of how a file is read."""

KEPT = timedelta(days=1)

PART = 1024 * 1024  # bytes of a file in one row: the database's driver holds three times as many
TOO_LARGE = "The file has {bytes:,} bytes. Files here can have at most 25 MB."


def keep(file: "UploadedFile[Any]", *, chosen: dict[str, Any], user: Any) -> ImportUpload:
    """Keep a file for a day; raises `ImportRejectedError` for one that is not for here. Older ones are forgotten."""
    if (size := file.size or 0) > settings.LARGEST_UPLOAD:  # before it is read: it may be of any size
        raise ImportRejectedError(TOO_LARGE.format(bytes=size))
    parts = iter(lambda: file.read(PART), b"")
    ImportUpload.objects.filter(created_at__lt=timezone.now() - KEPT, waits_since=None).delete()
    with transaction.atomic():
        upload = ImportUpload.objects.create(
            uploaded_by=user, file_name=(file.name or "")[:255], content=next(parts, b""), options=chosen
        )
        for part in parts:
            UploadPart.objects.create(upload=upload, content=part)
    return upload


def understand(upload: ImportUpload, *, may_add: bool) -> bool:
    """Choose how the file is read if that is clear; False if a person must say. Raises `ImportRejectedError`."""
    with opened(upload) as source:
        options = options_of(upload)
        how = understood(source, options.reading, adds=options.create_categories, may_add=may_add)
    if how is not None:
        _choose(upload, how)
    return how is not None


def match_of(upload: ImportUpload, choice: Choice, *, may_add: bool) -> Match:
    """Return how the file is likely to be read; raises `ImportRejectedError`."""
    with opened(upload) as source:
        options, found = options_of(upload), (upload.work or {}).get("found", {})
        choice = choice._replace(foreign=found.get("foreign", ()))
        return match(source, options.reading, choice, adds=options.create_categories, may_add=may_add)


def choose(upload: ImportUpload, how: Reading, *, profile: str | None, supplier: str) -> None:
    """Read the file like this from now on, and remember it as a profile; raises `ImportRejectedError`.

    `supplier`: the one that is known.
    """
    with opened(upload) as source:
        read(source, how)
        if profile is not None:
            remember(profile, source, how, supplier=supplier)
    _choose(upload, how)


def _choose(upload: ImportUpload, how: Reading) -> None:
    reading = {name: getattr(how, name) for name in MATCHED}
    others = {"values": how.values, "sheet": how.sheet or "", "fill_merged": how.fill_merged}
    upload.options |= {"reading": reading, **others}
    upload.save(update_fields=["options"])


def take(upload: ImportUpload, which: str) -> None:
    """Read references that look like known ones as those: that of the line `which`, or "all"; or ignore the "ids"."""
    upload.options["ignore_ids"] = upload.options.get("ignore_ids", False) or which == "ids"
    values = upload.options.setdefault("values", {})
    for line, reference, theirs in upload.work["found"]["near"]["pairs"]:
        if which in {"all", str(line)}:
            values.setdefault(REFERENCE.header, {})[reference] = theirs
    upload.save(update_fields=["options"])


def permissions(upload: ImportUpload) -> list[str]:
    """Return what a person must be allowed to import the file as was chosen."""
    values = upload.options.get("values", {}).get(CATEGORY.header, {})
    new = [value for value, ours in values.items() if value == ours]
    adds = upload.options["create_categories"] or Category.objects.filter(name__in=new).count() < len(new)
    return ["pets.add_importrun", *(["categories.add_category"] if adds else [])]


@contextmanager
def opened(upload: ImportUpload) -> Iterator[Source]:
    """Give the file as an import reads it."""
    with tempfile.TemporaryFile() as raw:
        raw.write(upload.content)
        for part in upload.parts.iterator(chunk_size=1):
            raw.write(part.content)
        yield Source(upload.file_name, raw)


def options_of(upload: ImportUpload) -> Options:
    """Return what was chosen for the file."""
    chosen = upload.options
    reading = Reading(
        formula_safe=chosen["formula_safe"],
        sheet=chosen.get("sheet") or None,
        values=chosen.get("values", {}),
        fill_merged=chosen.get("fill_merged"),  # none of them is in "reading", where release 1.6 does not know them
        largest_workbook=LARGEST_WORKBOOK,
    )
    return Options(
        reading=replace(reading, **chosen.get("reading", {})),
        create_categories=chosen["create_categories"],
        ignore_ids=chosen.get("ignore_ids", False),
        keep_blanks=chosen["blank"] == "keep",
        skip_errors=True,
        for_page=True,
    )
