"""`manage.py list_api_keys`: which keys there are."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from petstore_site.apikeys.management.base import add_json_option, as_json, duration, moment, to_json
from petstore_site.apikeys.models import APIKey, APIKeyQuerySet

HEADINGS = ("KEY ID", "NAME", "SCOPE", "LIMIT", "CREATED", "EXPIRES", "LAST USED", "STATE")


class Command(BaseCommand):
    """Lists keys as a table."""

    help = "List the active API keys, oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add which keys."""
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--expiring-within", type=duration, metavar="TIME", help="Only those, such as 14d.")
        which.add_argument("--all", action="store_true", help="Expired and revoked keys too.")
        add_json_option(parser)

    def handle(self, **options: Any) -> None:
        """Find and print."""
        keys = _chosen(options).select_related("replaced_by").order_by("pk")
        self.stdout.write(to_json([as_json(key) for key in keys]) if options["json"] else _table(keys))


def _chosen(options: dict[str, Any]) -> APIKeyQuerySet:
    if options["expiring_within"]:
        return APIKey.objects.expiring_within(options["expiring_within"])
    return APIKey.objects.all() if options["all"] else APIKey.objects.active()


def _table(keys: APIKeyQuerySet) -> str:
    rows = [HEADINGS, *(_row(key) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(key: APIKey) -> tuple[str, ...]:
    return (
        key.key_id,
        key.name,
        key.scope,
        key.rate_limit or "-",
        moment(key.created_at),
        moment(key.expires_at),
        moment(key.last_used_at),
        key.state,
    )
