"""`manage.py show_api_key`: all that is known of one key."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from petstore_site.apikeys.management.base import add_key_id, as_json, get_key, moment
from petstore_site.apikeys.models import APIKey


class Command(StoreCommand):
    help = "Show an API key: its state, its dates, and the keys before and after it."
    examples = ("4fGh2kLm", "4fGh2kLm --json")

    def add_arguments(self, parser: CommandParser) -> None:
        add_key_id(parser)

    def handle(self, **options: Any) -> None:
        key = get_key(options["key_id"])
        before = APIKey.objects.filter(replaced_by=key).first()
        self.show(_text(key, before), as_json(key, replaces=before.key_id if before else None))


def _text(key: APIKey, before: APIKey | None) -> str:
    lines = {
        "Key ID": key.key_id,
        "Name": key.name,
        "Contact": key.contact or "-",
        "State": key.state,
        "Scope": key.scope,
        "Limit": key.rate_limit or "the service's own",
        "Created": moment(key.created_at),
        "Expires": moment(key.expires_at),
        "Last used": moment(key.last_used_at),
        "Revoked": moment(key.revoked_at),
        "Replaces": before.key_id if before else "-",
        "Replaced by": key.replaced_by.key_id if key.replaced_by else "-",
    }
    return "\n".join(f"{title + ':':13}{value}" for title, value in lines.items())
