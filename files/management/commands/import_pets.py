"""`manage.py import_pets`: a file of animals into the catalogue."""

import shlex
from argparse import ArgumentTypeError
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from commands.exits import Exit, ExitError
from files.doubts.encodings import known_encoding
from files.errors import HeaderError, ImportRejectedError, printable
from files.management.base import count, ending, noting
from files.options import Options, Outcome
from files.progress import Progress
from files.readers.header import WORDS
from files.readers.rows import Reading
from files.readers.separated import DELIMITERS
from files.report import as_json, report
from files.run import import_file
from pets.columns import CATEGORY, HEADERS, REFERENCE, STATUS
from pets.models import ImportState, PetStatus

NOTHING = "Nothing changed."
DEFAULTS = {CATEGORY.header: "default_category", STATUS.header: "default_status"}
COLUMN_OPTIONS = "See --map, --header-row and --ignore-unknown-columns."
SHOWN = 20
"""Errors that are printed; `--json` and `--rejects` have more."""


def _encoding(name: str) -> str:
    try:
        return known_encoding(name)
    except LookupError:
        message = f"{name} is not an encoding that Python knows. Examples: utf-8, utf-16-le, cp1250, cp932."
        raise ArgumentTypeError(message) from None


def _mapping(text: str) -> tuple[str, str]:
    title, _, column = text.rpartition("=")
    if not title or column not in HEADERS:
        message = f"must be TITLE=COLUMN. Columns: {', '.join(HEADERS)}."
        raise ArgumentTypeError(message)
    return title, column


def _value(text: str) -> tuple[str, str, str]:
    column, _, pair = text.partition(":")
    value, equals, ours = pair.rpartition("=")
    if column not in {*WORDS, REFERENCE.header} or not (value and equals):
        message = "must be COLUMN:VALUE=OURS. Columns: category, status, external_reference."
        raise ArgumentTypeError(message)
    return column, value, ours


ARGUMENTS: dict[str, dict[str, Any]] = {
    "file": {"metavar": "FILE", "help": 'The file, or "-" for standard input.'},
    "--dry-run": {"action": "store_true", "help": "Show what would change, and save nothing."},
    "--allow-empty": {"action": "store_true", "help": "Import a file that has no rows."},
    "--again": {"action": "store_true", "help": "Import a file that was imported before."},
}
READING: dict[str, dict[str, Any]] = {
    "--encoding": {
        "type": _encoding,
        "metavar": "NAME",
        "help": "The encoding, such as cp1250; every one that Python knows. A byte order mark wins.",
    },
    "--delimiter": {
        "choices": DELIMITERS,
        "metavar": "CHARACTER",
        "help": "The character between the cells of a CSV file: , ; | or tab.",
    },
    "--sheet": {"metavar": "NAME", "help": "Read this sheet of a workbook, not the first one."},
    "--fill-merged": {
        "action": "store_true",
        "default": None,
        "help": "Read merged cells of a column as the first of them. Without this, their rows are errors.",
    },
    "--header-row": {
        "type": count,
        "default": 1,
        "metavar": "N",
        "help": "Look for the header from line N on, or row N of a sheet, and leave out what is above it.",
    },
    "--map": {
        "type": _mapping,
        "dest": "mapping",
        "action": "append",
        "default": [],
        "metavar": "TITLE=COLUMN",
        "help": "Read the column TITLE as COLUMN, for example Tier=name. Repeat it for more columns.",
    },
    "--map-value": {
        "type": _value,
        "dest": "values",
        "action": "append",
        "default": [],
        "metavar": "COLUMN:VALUE=OURS",
        "help": "Read VALUE of the column category, status or external_reference as OURS, for example "
        "category:Hunde=Dogs. With nothing behind the =, its rows are left out. A category that becomes itself, "
        "category:Hunde=Hunde, is added if it does not exist. Repeat it for more values.",
    },
    "--ignore-unknown-columns": {
        "dest": "ignore_unknown",
        "action": "store_true",
        "help": "Ignore columns that an import does not have.",
    },
    "--profile": {
        "metavar": "NAME",
        "help": "Read the columns and values as this profile of the back office says, wherever in the first rows its "
        "header is.",
    },
    "--default-category": {"metavar": "NAME", "help": "The category of new animals whose rows have none."},
    "--default-status": {
        "choices": PetStatus.values,
        "help": "The status of new animals whose rows have none; without it they are available.",
    },
    "--formula-safe": {
        "action": "store_true",
        "help": "Drop the ' that export_pets --for-spreadsheets put before cells.",
    },
}
ROWS: dict[str, dict[str, Any]] = {
    "--create-categories": {
        "action": "store_true",
        "help": "Create the categories that do not exist, and list them; without it they are errors. A name that "
        "looks like a typo of another stays an error.",
    },
    # An option of its own, as one with an optional value would take FILE for it.
    "--create-categories=force": {
        "action": "store_true",
        "dest": "force_categories",
        "help": "Create also those whose names look like typos of others.",
    },
    "--ignore-ids": {
        "action": "store_true",
        "help": "Skip the column id, for a file from another catalogue. Without this, id says which animal to change.",
    },
    "--accept-ids": {
        "action": "store_true",
        "help": "Import also if most rows with an id change the name and also the reference or category of its "
        "animal, as those of another catalogue would.",
    },
    "--blank": {
        "choices": ("keep", "clear"),
        "default": "keep",
        "help": "What a blank cell does to an animal that is there: keep its value (default), or clear it. Only "
        "the status can be cleared, to available; a blank name or category is then an error.",
    },
    "--on-error": {
        "choices": ("abort", "skip"),
        "default": "abort",
        "help": "What to do with a row that has an error: abort the import (default), or skip the row.",
    },
    "--rejects": {
        "type": Path,
        "metavar": "NEWFILE",
        "help": "Keep the rejected rows in this file, each with _line, _code and _message. Fix them and import it. "
        "Rows whose errors show only beside other rows or the catalogue come last: sort by _line for your order.",
    },
    "--missing": {
        "choices": ("report",),
        "help": "List the animals of the catalogue that are not in the file. They are never changed.",
    },
    "--accept-references": {
        "action": "store_true",
        "help": "Import also references and names that look altered by a spreadsheet program or a wrong "
        "encoding, and references that look like that of another animal.",
    },
}


class Command(StoreCommand):
    help = (
        "Import animals from a file: CSV, JSON, JSON lines or XLSX. A row with the id or the "
        "external_reference of an animal changes it; every other row adds one. All or nothing: docs/import-commands.md."
        " Hide the progress with -v0."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        reading = parser.add_argument_group("reading", "The file shows all of this, unless you set it.")
        for group, arguments in ((parser, ARGUMENTS), (reading, READING), (parser.add_argument_group("rows"), ROWS)):
            for name, options in arguments.items():
                group.add_argument(name, **options)

    def handle(self, **options: Any) -> None:
        chosen = _options(options)
        with ending():
            try:
                with noting(shown=options["verbosity"] > 0) as note:
                    outcome = import_file(options["file"], chosen, Progress(note))
            except HeaderError as error:
                message = f"{error} {COLUMN_OPTIONS}"
                raise ImportRejectedError(message) from None
            self._report(outcome)
        if outcome.run.rejected:
            raise SystemExit(Exit.DONE_WITH_REJECTED_ROWS)

    def _report(self, outcome: Outcome) -> None:
        run = outcome.run
        if not self.as_json:
            for error in outcome.errors[:SHOWN]:
                self.complain(f"{outcome.place} {error.line:,}: {error.text}")
            if run.rejected > SHOWN:
                self.complain("There are more; --rejects FILE keeps all of them.")
            foreign = (value for value, rows in outcome.foreign.items() if rows > 1 and value[1])
            if (repeated := next(foreign, None)) is not None:
                pair = shlex.quote(f"{printable(':'.join(repeated))}=OURS")
                self.complain(f"If a value is one of ours by another name, use --map-value {pair}.")
        if outcome.rejection is None:
            self.report(report(outcome), as_json(outcome))
        elif run.state == ImportState.ALREADY:
            message = f"{outcome.rejection} To import it again, use --again ({run})."
            raise ExitError(message, status=Exit.ALREADY_IMPORTED, result=as_json(outcome))
        else:
            said = outcome.rejection if outcome.rejection.startswith(NOTHING) else f"{outcome.rejection} {NOTHING}"
            rejects = f"\nThe rejected rows are in {run.rejects}." if run.rejects else ""
            message = f"{said} ({run}){rejects}"
            raise ExitError(message, status=Exit.REJECTED, result=as_json(outcome))


def _options(given: dict[str, Any]) -> Options:
    if given["profile"] is not None and (given["header_row"] > 1 or given["mapping"]):
        message = "--profile has the columns. Leave out --header-row and --map."
        raise ExitError(message, status=Exit.USAGE)
    values: dict[str, dict[str, str]] = {}
    for column, value, ours in given["values"]:
        values.setdefault(column, {})[value] = ours
    given |= {
        "mapping": dict(given["mapping"]),
        "values": values,
        "defaults": {name: given[key] for name, key in DEFAULTS.items() if given[key] is not None},
        "create_categories": given["create_categories"] or given["force_categories"],
        "keep_blanks": given["blank"] == "keep",
        "skip_errors": given["on_error"] == "skip",
        "accept_near": given["accept_references"],
        "report_missing": given["missing"] == "report",
    }
    reading, options = ({each.name for each in fields(kind)} & given.keys() for kind in (Reading, Options))
    return Options(
        reading=Reading(**{name: given[name] for name in reading}), **{name: given[name] for name in options}
    )
