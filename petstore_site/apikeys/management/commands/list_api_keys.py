"""`manage.py list_api_keys`: which keys there are."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from petstore_site.apikeys.management.base import as_json, duration, table
from petstore_site.apikeys.models import APIKey, APIKeyQuerySet


class Command(StoreCommand):
    help = "List the active API keys, oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--expiring-within", type=duration, metavar="TIME", help="Only those, such as 14d.")
        which.add_argument("--all", action="store_true", help="Expired and revoked keys too.")

    def handle(self, **options: Any) -> None:
        keys = _chosen(options).select_related("replaced_by").order_by("pk")
        self.show(table(keys), [as_json(key) for key in keys])


def _chosen(options: dict[str, Any]) -> APIKeyQuerySet:
    if options["expiring_within"]:
        return APIKey.objects.expiring_within(options["expiring_within"])
    return APIKey.objects.all() if options["all"] else APIKey.objects.active()
