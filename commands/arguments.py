"""Arguments that several commands take."""

import re
from argparse import ArgumentTypeError
from datetime import UTC, datetime

from django.core.management.base import CommandParser


def moment(text: str) -> datetime:
    """Return the time that an argument writes, UTC if it names no zone; a date is its midnight."""
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = "must be a date or a time, such as 2026-11-21, 2026-11-21T09:30 (UTC) or 2026-11-21T09:30:00+02:00."
        raise ArgumentTypeError(message) from None


def count(text: str) -> int:
    """Return the number from 1 on that an argument writes."""
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise ArgumentTypeError("must be a number from 1 on.")
    return int(text)


def add_safety_options(parser: CommandParser) -> None:
    """Add `--dry-run` and `--yes`, for a command that loses something."""
    parser.add_argument("--dry-run", action="store_true", help="Show what would change, and change nothing.")
    parser.add_argument("--yes", action="store_true", help="Do not ask; without a terminal nothing is asked anyway.")
