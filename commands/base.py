"""The base of our commands: output, errors, questions and exit statuses."""

import json
import os
import sys
from argparse import ArgumentError
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter, OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error as AnyDatabaseError
from django.db import connections

from commands.exits import Exit, ExitError


def to_json(value: Any) -> str:
    """Return a value as one line of JSON; times are ISO 8601 in UTC."""
    return json.dumps(value, cls=DjangoJSONEncoder)


def end(message: str, exit_status: Exit) -> NoReturn:
    """End the process with a sentence, which is printed as JSON too if the command line asks for that."""
    if "--json" in sys.argv:
        with suppress(ExitError, BrokenPipeError):
            _write(OutputWrapper(sys.stdout), to_json({"state": exit_status.state, "message": message}))
    sys.stderr.write(f"{message}\n")
    sys.exit(exit_status)


def add_safety_options(parser: CommandParser) -> None:
    """Add `--dry-run` and `--yes`, for a command that loses something."""
    parser.add_argument("--dry-run", action="store_true", help="Show what would change, and change nothing.")
    parser.add_argument("--yes", action="store_true", help="Do not ask; without a terminal nothing is asked anyway.")


def silence(descriptor: int) -> None:
    """Throw away what Python still holds for a descriptor, or it fails again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


class StoreCommand(BaseCommand):
    """A command with `--json`. However it ends, it has an exit status, a sentence and a JSON value."""

    requires_system_checks = ()  # they take longer than most commands, and are about serving
    suppressed_base_arguments = DjangoHelpFormatter.show_last  # they work, but are Django's
    as_json = False

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Return the parser, with `--json` unless the command adds its own."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        with suppress(ArgumentError):
            parser.add_argument("--json", action="store_true", help="Print JSON instead of sentences.")
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        """Run for a shell: like Django's, but `--json` applies to usage errors too."""
        parser = self.create_parser(argv[0], argv[1])
        try:
            self.execute(**self._parse(parser, argv[2:]))
        except CommandError as error:
            if "--traceback" in argv:
                raise
            self.complain(str(error))
            if error.returncode == Exit.USAGE:
                self.complain(f"Options: {parser.prog.replace(' ', ' help ', 1)}", str)
            sys.exit(error.returncode)
        finally:
            connections.close_all()

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run. With `--json`, an error is printed as JSON too."""
        self.as_json = options["json"]
        try:
            return super().execute(*args, **options)
        except (AnyDatabaseError, BrokenPipeError):  # manage.py has the sentence and the status
            raise
        except Exception as error:
            internal = CommandError(f"Internal error: {type(error).__name__}.")
            self._print_failure(error if isinstance(error, CommandError) else internal)
            raise

    def show(self, text: str, result: Any) -> None:
        """Print the result, as a sentence or as JSON. If it cannot be printed, the command fails.

        Before a commit this undoes everything.
        """
        _write(self.stdout, to_json(result) if self.as_json else text)

    def report(self, text: str, result: Any) -> None:
        """Print what was done. If that fails, the work and the exit status stay."""
        try:
            with suppress(BrokenPipeError):
                self.show(text, result)
        except ExitError as error:
            self.complain(f"Done. {error}")

    def complain(self, text: str, style: Callable[[str], str] | None = None) -> None:
        """Write to standard error, if it can be, in red unless there is a `style`."""
        try:
            self.stderr.write(text, style)
            self.stderr.flush()
        except OSError:
            silence(self.stderr.fileno())

    def would_ask(self, *, yes: bool) -> bool:
        """Return whether `confirm` asks: there is a terminal, and no `--yes`."""
        return not yes and sys.stdin.isatty() and self.stderr.isatty()

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask on the terminal before data is lost; not without a terminal or with `--yes`."""
        if not self.would_ask(yes=yes):
            return
        self.stderr.write(f"{question} [y/N] ", style_func=str, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise ExitError("Nothing changed.", status=Exit.STOPPED)

    def _parse(self, parser: CommandParser, arguments: list[str]) -> dict[str, Any]:
        try:
            return vars(parser.parse_args(arguments))
        except CommandError as error:
            self.as_json = "--json" in arguments
            failure = ExitError(str(error).removeprefix("Error: "), status=Exit.USAGE)
            self._print_failure(failure)
            raise failure from None

    def _print_failure(self, error: CommandError) -> None:
        if self.as_json:
            result = {"state": Exit(error.returncode).state, "message": str(error)}
            more = getattr(error, "result", {})
            with suppress(ExitError, BrokenPipeError):
                _write(self.stdout, to_json(result | more if isinstance(more, dict) else more))


def _write(out: OutputWrapper, text: str) -> None:
    """Write `text` and return only when it has left the process. Raises `ExitError`, or `BrokenPipeError`."""
    try:
        out.write(text)
        out.flush()
    except OSError as error:
        silence(out.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise ExitError(f"Standard output cannot be written: {error.strerror}.", status=Exit.FAILED) from None
