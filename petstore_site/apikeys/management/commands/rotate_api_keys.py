"""`manage.py rotate_api_keys`: new keys for all clients whose key expires soon."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from petstore_site.apikeys.management.base import (
    add_grace_option,
    add_json_option,
    as_json,
    duration,
    issued,
    replaced,
    to_json,
)
from petstore_site.apikeys.models import APIKey


class Command(BaseCommand):
    """Replaces every key that expires soon, or none, and prints the new ones, once."""

    help = "Issue keys in place of all active ones that expire soon and were not replaced yet: all, or none."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add which keys, how long the old ones work, and how to print the new ones."""
        parser.add_argument(
            "--expiring-within", type=duration, required=True, metavar="TIME", help="Which keys: such as 14d."
        )
        add_grace_option(parser)
        add_json_option(parser)

    def handle(self, **options: Any) -> None:
        """Rotate and print."""
        due = APIKey.objects.expiring_within(options["expiring_within"]).not_replaced()
        rotated = due.rotate(grace=options["grace"])
        if options["json"]:
            keys = [as_json(new, key=secret, replaces=as_json(old)) for old, new, secret in rotated]
            self.stdout.write(to_json(keys))
            return
        for old, new, secret in rotated:
            self.stdout.write(f"{issued(new, secret)}\n{replaced(old)}\n\n")
        self.stdout.write(f"{len(rotated)} rotated.")
