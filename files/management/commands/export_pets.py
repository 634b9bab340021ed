"""`manage.py export_pets`: the catalogue as a file."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.db.models import QuerySet

from categories.models import Category
from categories.names import validate_name
from categories.similar import Similar
from commands.base import StoreCommand
from commands.exits import Exit, ExitError
from files.export import HEADINGS, IMPORTED, FileFormat, Form, TooManyAnimalsError, write_pets
from files.management.base import counting
from files.new_file import BLOCK, FileInTheWayError, WholeFile
from pets.models import Pet, PetStatus

STANDARD_OUTPUT = "-"


class Command(StoreCommand):
    help = (
        "Write the catalogue, or a part of it, to a file that import_pets reads back. The file is CSV, JSON lines or "
        f"XLSX, with the columns {', '.join(IMPORTED)}, or those that --columns names. It appears whole or not at all. "
        "Hide the progress with -v0."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", help="Its name ends in .csv, .jsonl or .xlsx. - is standard output."
        )
        parser.add_argument(
            "--format",
            choices=[file_format.value for file_format in FileFormat],
            help="Write this format, whatever the name ends in; standard output gets csv without it.",
        )
        parser.add_argument("--force", action="store_true", help="Replace FILE if it exists.")
        parser.add_argument(
            "--for-spreadsheets",
            action="store_true",
            help="Put a ' before every cell that begins with = + - @ ' or a tab, which a spreadsheet program may take"
            " for a formula: import_pets --formula-safe removes it again. Begin CSV with a byte order mark: without"
            " it, Excel garbles letters.",
        )
        parser.add_argument(
            "--columns",
            type=lambda text: tuple(name.strip() for name in text.split(",")),
            default=IMPORTED,
            metavar="NAME,…",
            help=f"Write these columns, in this order: {', '.join(HEADINGS)}. The last three are of UTC, and"
            " import_pets does not know them.",
        )
        parser.add_argument(
            "--status",
            action="append",
            choices=PetStatus.values,
            help="Write only animals with this status. Repeat it for more.",
        )
        parser.add_argument(
            "--category",
            action="append",
            metavar="NAME",
            help="Write only animals of the category with this name. Repeat it for more.",
        )

    def handle(self, **options: Any) -> None:
        file, form, pets, began = options["file"], _form(options), _selected(options), time.monotonic()
        printing = file == STANDARD_OUTPUT
        if printing and self.as_json:
            _end("--json is for a file: standard output holds the animals.")
        if printing and form.file_format is FileFormat.XLSX and self.stdout.isatty():
            _end("A terminal cannot show XLSX. Name a file, or redirect standard output to one.")
        with (
            _clear_errors(file),
            counting("Exporting", "animals", shown=options["verbosity"] > 0) as progress,
            # `sys.stdout` has no buffer if PYTHONUNBUFFERED is set.
            open(self.stdout.fileno(), "wb", buffering=BLOCK, closefd=False)
            if printing
            else WholeFile(Path(file), replace=options["force"]) as out,
        ):
            animals = write_pets(pets, out, form=form, progress=progress)
        what = f"{animals:,} {'animal' if animals == 1 else 'animals'}"
        if printing and options["verbosity"]:
            self.complain(f"Wrote {what} to standard output.", style=str)  # it is no error
        elif self.as_json or options["verbosity"]:
            seconds = round(time.monotonic() - began, 3)
            size = Path(file).stat().st_size
            done = {"state": Exit.DONE.state, "file": file, "format": form.file_format.value, "animals": animals}
            self.report(f"Wrote {what} to {file}.", done | {"bytes": size, "seconds": seconds})


@contextmanager
def _clear_errors(file: str) -> Iterator[None]:
    """Turn what stops an export into an `ExitError`; a closed pipe is left to manage.py."""
    place = "Standard output" if file == STANDARD_OUTPUT else file
    try:
        yield
    except FileInTheWayError as error:
        _end(f"{place} {error}", Exit.REJECTED)
    except TooManyAnimalsError as error:
        _end(str(error), Exit.REJECTED)
    except BrokenPipeError:  # the reader has read enough
        raise
    except FileNotFoundError:
        _end(f"{place} cannot be written: its folder does not exist.", Exit.FAILED)
    except OSError as error:
        _end(f"{place} cannot be written: {error.strerror or error}.", Exit.FAILED)
    except KeyboardInterrupt:
        became = "finished" if file == STANDARD_OUTPUT else "written"
        _end(f"Stopped. {place} was not {became}.", Exit.STOPPED)


def _end(message: str, status: Exit = Exit.USAGE) -> NoReturn:
    raise ExitError(message, status=status) from None


def _form(options: dict[str, Any]) -> Form:
    """Return what the options and the name of the file ask for; raises `ExitError`."""
    file, wanted = options["file"], options["format"]
    if os.path.isdir(file):  # noqa: PTH112 - `Path.is_dir` raises for a folder in a closed one
        _end(f"{file} is a folder. Name a new file in it.")
    file_format = wanted or ("csv" if file == STANDARD_OUTPUT else PurePath(file.lower()).suffix[1:])
    if file_format not in {*FileFormat}:
        _end(f"{file} does not end in .csv, .jsonl or .xlsx. Add --format.")
    try:
        return Form(
            file_format=FileFormat(file_format),
            columns=options["columns"],
            for_spreadsheets=options["for_spreadsheets"],
        )
    except ValueError as error:
        _end(str(error))


def _selected(options: dict[str, Any]) -> QuerySet[Pet]:
    """Return the animals that the options choose; raises `ExitError` if there is no such category."""
    pets = Pet.objects.all()
    if options["status"]:
        pets = pets.filter(status__in=options["status"])
    if options["category"]:
        pets = pets.filter(category__in=[_category(name) for name in options["category"]])
    return pets


def _category(name: str) -> Category:
    try:
        validate_name(name)  # a database would not even look for some names
        return Category.objects.get(name=name)
    except (ValidationError, Category.DoesNotExist):
        likely = Similar(Category.objects.values_list("name", flat=True)).find(name)
        hint = f' Did you mean "{likely}"?' if likely else ""
        _end(f'No category is called "{name}".{hint}')
