"""What the commands for API keys share: how they read arguments and how they print keys."""

import json
from argparse import ArgumentTypeError, _ArgumentGroup
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.core.management.base import CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from petstore_site.apikeys import durations, keys
from petstore_site.apikeys.models import APIKey

VOID = "The commit failed. The key printed above does not work, unless show_api_key finds it."


def duration(text: str) -> timedelta:
    """Return the length of time that an argument writes."""
    try:
        return durations.parse_duration(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def key_id(text: str) -> str:
    """Return the argument if it is a key id; whatever else it is, such as a whole key, is not repeated."""
    if not keys.KEY_ID.fullmatch(text):
        message = "must be the 8-character key id that list_api_keys shows, never the whole key."
        raise ArgumentTypeError(message)
    return text


def get_key(key_id: str) -> APIKey:
    """Return the key, or raise `CommandError`."""
    try:
        return APIKey.objects.get(key_id=key_id)
    except ObjectDoesNotExist:
        message = f"No key has the id {key_id}."
        raise CommandError(message) from None


def moment(at: datetime | None) -> str:
    """Return a time as people read it; "never" for None."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "never"


def as_json(key: APIKey, /, **more: Any) -> dict[str, Any]:
    """Return what may be shown of a key, and `more`."""
    return {
        "key_id": key.key_id,
        "name": key.name,
        "contact": key.contact,
        "scope": key.scope,
        "rate_limit": key.rate_limit,
        "state": key.state,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
        "replaced_by": key.replaced_by.key_id if key.replaced_by else None,
        **more,
    }


def issued(key: APIKey, secret: str) -> str:
    """Return the paragraph that shows a new key, once."""
    return (
        f'Issued key {key.key_id} for "{key.name}": scope {key.scope}, expires {moment(key.expires_at)}.\n\n'
        f"    {secret}\n\n"
        "Keep it now, it is not shown again."
    )


def replaced(key: APIKey) -> str:
    """Return the sentence about a key that was rotated."""
    return f"It replaces key {key.key_id}, which works until {moment(key.expires_at)}."


def to_json(value: Any) -> str:
    """Return a value as one line of JSON; times are ISO 8601 in UTC."""
    return json.dumps(value, cls=DjangoJSONEncoder)


def add_json_option(parser: CommandParser | _ArgumentGroup) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="Print JSON for machines instead of sentences.")


def add_secret_options(parser: CommandParser) -> None:
    """Add `--json` and `--secret-only`, of which one may be given."""
    group = parser.add_mutually_exclusive_group()
    add_json_option(group)
    group.add_argument("--secret-only", action="store_true", help="Print the new key alone, for a pipe.")


def add_grace_option(parser: CommandParser) -> None:
    """Add `--grace`."""
    parser.add_argument(
        "--grace", type=duration, default="24h", metavar="TIME", help="How long the old key still works; default 24h."
    )
