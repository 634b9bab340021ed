"""What the commands for API keys share: how they read arguments and how they print keys."""

import re
from argparse import ArgumentTypeError
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.core.management.base import CommandParser

from commands.exits import ExitError
from petstore_site.apikeys import keys
from petstore_site.apikeys.models import LONGEST, APIKey

UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

SHOWN = (
    "key_id", "name", "contact", "scope", "rate_limit", "state",
    "created_at", "expires_at", "last_used_at", "revoked_at",
)  # fmt: skip

HEADINGS = ("KEY ID", "NAME", "SCOPE", "LIMIT", "CREATED", "EXPIRES", "LAST USED", "STATE")


def duration(text: str) -> timedelta:
    """Return the positive length of time that an argument writes, such as `30min`, `24h`, `90d` or `2w`."""
    if match := re.fullmatch(r"([1-9][0-9]{0,7})m", text):
        message = f"{text} may be minutes or months. Write {match[1]}min, or months in days or weeks, such as 30d."
        raise ArgumentTypeError(message)
    match = re.fullmatch(r"([1-9][0-9]{0,7})(min|[hdw])", text)
    if match is None or int(match[1]) * UNITS[match[2]] > LONGEST:
        raise ArgumentTypeError(f"must be such as 30min, 24h, 90d or 2w, and at most {LONGEST.days}d.")
    return int(match[1]) * UNITS[match[2]]


def key_id(text: str) -> str:
    """Return the argument if it is a key ID; whatever else it is, such as a whole key, is not repeated."""
    if not keys.KEY_ID.fullmatch(text):
        raise ArgumentTypeError("must be the 8-character key ID that list_api_keys shows, never the whole key.")
    return text


def get_key(key_id: str) -> APIKey:
    """Return the key; raises `ExitError`."""
    try:
        return APIKey.objects.select_related("replaced_by").get(key_id=key_id)
    except ObjectDoesNotExist:
        raise ExitError(f"No key has the ID {key_id}. List the keys with list_api_keys --all.") from None


def moment(at: datetime | None) -> str:
    """Return a time as people read it; "never" for None."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "never"


def as_json(key: APIKey, /, **more: Any) -> dict[str, Any]:
    """Return what may be shown of a key, and `more`."""
    replaced_by = key.replaced_by.key_id if key.replaced_by else None
    return {name: getattr(key, name) for name in SHOWN} | {"replaced_by": replaced_by, **more}


def issued(key: APIKey, secret: str) -> str:
    """Return the paragraph that shows a new key, once."""
    return (
        f'Issued key {key.key_id} for "{key.name}": scope {key.scope}, expires {moment(key.expires_at)}.\n\n'
        f"    {secret}\n\n"
        "Copy it now. You won't see it again."
    )


def rotated(old: APIKey, new: APIKey, secret: str) -> str:
    """Return the paragraph that shows the key that replaces another, once."""
    return f"{issued(new, secret)}\nIt replaces key {old.key_id}, which works until {moment(old.expires_at)}."


def table(keys: Iterable[APIKey]) -> str:
    """Return one line a key, below the headings."""
    rows = [HEADINGS, *(_row(key) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(key: APIKey) -> tuple[str, ...]:
    times = map(moment, (key.created_at, key.expires_at, key.last_used_at))
    return key.key_id, key.name, key.scope, key.rate_limit or "-", *times, key.state


def add_key_id(parser: CommandParser) -> None:
    """Add KEY_ID."""
    parser.add_argument("key_id", metavar="KEY_ID", type=key_id, help="The key's ID, as list_api_keys shows it.")


def add_secret_options(parser: CommandParser) -> None:
    """Add `--json` and `--secret-only`, of which one may be given."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="Print JSON instead of sentences.")
    group.add_argument("--secret-only", action="store_true", help="Print the new key alone, for a pipe.")


def add_grace_option(parser: CommandParser) -> None:
    """Add `--grace`."""
    parser.add_argument(
        "--grace", type=duration, default="24h", metavar="TIME", help="How long the old key still works; default 24h."
    )
