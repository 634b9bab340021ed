"""`manage.py export_pets`: the catalogue as a file."""

import json
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOBase
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db.models import QuerySet
from tqdm import tqdm

from categories.models import Category
from categories.names import validate_name
from commands.exits import Exit
from pets.exporting import FileFormat, Form, form_named, write_pets
from pets.exporting.rows import Progress, unheard
from pets.exporting.sheet import TooManyAnimalsError
from pets.files import BLOCK, FileInTheWayError, whole_file
from pets.models import Pet, PetStatus

STANDARD_OUTPUT = "-"
SECONDS_BETWEEN_LINES = 10.0


def moment(text: str) -> datetime:
    """Return the time that an argument writes, UTC if it names no zone; a date is its midnight."""
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = "must be a date or a time, such as 2026-11-21, 2026-11-21T09:30 (UTC) or 2026-11-21T09:30:00+02:00."
        raise ArgumentTypeError(message) from None


class Command(BaseCommand):
    """Writes the catalogue down."""

    help = (
        "Write the catalogue, or a part of it, to a file that import_pets reads back: CSV, JSON lines or XLSX, with the"
        " columns id, external_reference, name, category and status. The file appears whole or not at all."
    )

    requires_system_checks = ()  # they take as long as half a million rows, and are about serving

    def add_arguments(self, parser: CommandParser) -> None:
        """Add what is written where, and which animals."""
        parser.add_argument(
            "file",
            metavar="FILE",
            help="Its name ends in .csv, .jsonl, .ndjson or .xlsx; .gz after the first three compresses it."
            " - is standard output.",
        )
        parser.add_argument(
            "--format",
            choices=[file_format.value for file_format in FileFormat],
            help="What is written if the name does not say it; for standard output csv if this is left out.",
        )
        parser.add_argument("--gzip", action="store_true", help="Compress standard output.")
        parser.add_argument("--force", action="store_true", help="Replace FILE if it exists.")
        parser.add_argument(
            "--formula-safe",
            action="store_true",
            help="Put a ' before every cell that begins with = + - @ ' or a tab, which a spreadsheet program may take"
            " for a formula; import_pets --formula-safe takes it away again. For CSV and XLSX.",
        )
        parser.add_argument(
            "--no-ids",
            action="store_false",
            dest="ids",
            help="Leave out the column id, for another catalogue: import_pets finds animals by it.",
        )
        parser.add_argument(
            "--template",
            action="store_true",
            help="Write only the header, for new animals: a file to fill in and import. For CSV and XLSX.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object when done.")
        _add_selection(parser)

    def handle(self, **options: Any) -> None:
        """Write, and say how much."""
        file, form, pets, began = options["file"], _form(options), _selected(options), time.monotonic()
        if file == STANDARD_OUTPUT:
            self._check_standard_output(form, options)
        with _told_errors(file), self._progress(pets, options["verbosity"]) as progress:
            if file == STANDARD_OUTPUT:
                animals = self._print(pets, form, progress)
            else:
                with whole_file(Path(file), replace=options["force"]) as out:
                    animals = write_pets(pets, out, form=form, progress=progress)
        if options["json"]:
            seconds = round(time.monotonic() - began, 3)
            size = Path(file).stat().st_size
            summary = {"file": file, "format": str(form), "animals": animals, "bytes": size, "seconds": seconds}
            self.stdout.write(json.dumps(summary))
        elif options["verbosity"]:
            place = "standard output" if file == STANDARD_OUTPUT else file
            what = "a template" if options["template"] else f"{animals} {'animal' if animals == 1 else 'animals'}"
            self._say(f"Wrote {what} to {place}.")

    def _check_standard_output(self, form: Form, options: dict[str, Any]) -> None:
        if options["json"]:
            message = "--json is for a file: standard output holds the animals."
            raise CommandError(message)
        if form.is_binary and self.stdout.isatty():
            message = "A terminal cannot show XLSX or gzip. Name a file, or send standard output to one."
            raise CommandError(message)

    def _print(self, pets: QuerySet[Pet], form: Form, progress: Progress) -> int:
        """Write to the descriptor, since `sys.stdout` has no buffer if PYTHONUNBUFFERED is set."""
        try:
            with open(self.stdout.fileno(), "wb", buffering=BLOCK, closefd=False) as out:
                return write_pets(pets, out, form=form, progress=progress)
        except BrokenPipeError:  # whoever read has read enough
            raise SystemExit(Exit.BROKEN_PIPE) from None

    @contextmanager
    def _progress(self, pets: QuerySet[Pet], verbosity: int) -> Iterator[Progress]:
        if not verbosity:
            yield unheard
        elif self.stderr.isatty():
            file = _WithoutLineEnds(self.stderr)
            with tqdm(total=pets.count(), desc="Exporting", unit=" animals", leave=False, file=file) as bar:
                yield bar.update
        else:
            yield _lines(self._say, every=SECONDS_BETWEEN_LINES)

    def _say(self, text: str) -> None:
        self.stderr.write(text, style_func=str)  # it is no error


class _WithoutLineEnds(TextIOBase):
    """A command's standard error for tqdm, which ends no line."""

    def __init__(self, wrapper: OutputWrapper) -> None:
        self._wrapper = wrapper

    def write(self, text: str) -> int:
        self._wrapper.write(text, style_func=str, ending="")
        return len(text)

    def flush(self) -> None:
        self._wrapper.flush()


def _lines(say: Callable[[str], None], *, every: float) -> Progress:
    """Return what says the count when `every` seconds have passed since it was last said."""
    written, said_at = 0, time.monotonic()

    def progress(more: int) -> None:
        nonlocal written, said_at
        written += more
        if time.monotonic() - said_at >= every:
            say(f"Exporting: {written} animals so far.")
            said_at = time.monotonic()

    return progress


@contextmanager
def _told_errors(file: str) -> Iterator[None]:
    """Turn what stops an export into a sentence."""
    place = "Standard output" if file == STANDARD_OUTPUT else file
    try:
        yield
    except FileInTheWayError as error:
        message, status = f"{place} {error}", 1
    except TooManyAnimalsError as error:
        message, status = str(error), 1
    except FileNotFoundError:
        message, status = f"{place} cannot be written: its folder does not exist.", 1
    except OSError as error:
        message, status = f"{place} cannot be written: {error.strerror or error}.", 1
    except KeyboardInterrupt:
        message, status = (
            f"Stopped. {place} was not {'finished' if file == STANDARD_OUTPUT else 'written'}.",
            Exit.STOPPED,
        )
    else:
        return
    raise CommandError(message, returncode=status)


def _add_selection(parser: CommandParser) -> None:
    parser.add_argument(
        "--status",
        action="append",
        choices=PetStatus.values,
        help="Write only animals with this status. Can be given more than once.",
    )
    parser.add_argument(
        "--category",
        action="append",
        metavar="NAME",
        help="Write only animals of the category with this name. Can be given more than once.",
    )
    parser.add_argument(
        "--changed-since",
        type=moment,
        metavar="TIME",
        help="Write only animals that were added or changed at this time or later: 2026-11-21 or"
        " 2026-11-21T09:30:00Z; UTC unless it names a zone.",
    )


def _form(options: dict[str, Any]) -> Form:
    """Return what the options and the name of the file say; raises `CommandError`."""
    file, said = options["file"], options["format"]
    named, compressed = (None, options["gzip"]) if file == STANDARD_OUTPUT else form_named(file)
    if file == STANDARD_OUTPUT:
        named = FileFormat(said or FileFormat.CSV)
    elif options["gzip"]:
        message = "--gzip is for standard output. A file is compressed if its name ends in .gz."
        raise CommandError(message)
    if not named and not said:
        message = f"{file} does not end in .csv, .jsonl, .ndjson or .xlsx, nor in .gz after it. Say --format."
        raise CommandError(message)
    if named and said and named != said:
        message = f"The name {file} says {named}, --format says {said}."
        raise CommandError(message)
    if options["template"] and FileFormat.JSONL in {named, said}:
        message = "A template is CSV or XLSX: JSON lines have no header."
        raise CommandError(message)
    try:
        return Form(
            file_format=named or FileFormat(said),
            compressed=compressed,
            ids=options["ids"] and not options["template"],
            formula_safe=options["formula_safe"],
        )
    except ValueError as error:
        raise CommandError(str(error)) from None


def _selected(options: dict[str, Any]) -> QuerySet[Pet]:
    """Return the animals that the options choose; raises `CommandError` if there is no such category."""
    pets = Pet.objects.filter(pk__lt=0) if options["template"] else Pet.objects.all()  # none() has no statement
    if options["status"]:
        pets = pets.filter(status__in=options["status"])
    if options["category"]:
        pets = pets.filter(category__in=[_category(name) for name in options["category"]])
    if options["changed_since"]:
        pets = pets.filter(updated_at__gte=options["changed_since"])
    return pets


def _category(name: str) -> Category:
    try:
        validate_name(name)  # a database would not even look for some names
        return Category.objects.get(name=name)
    except (ValidationError, Category.DoesNotExist):
        message = f'No category is called "{name}".'
        raise CommandError(message) from None
