"""`manage.py rotate_api_keys`: new keys for all clients whose key expires soon."""

from collections.abc import Sized
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from commands.base import StoreCommand, add_safety_options
from petstore_site.apikeys.management.base import add_grace_option, as_json, duration, rotated, table
from petstore_site.apikeys.models import APIKey


class Command(StoreCommand):
    help = "Replace the active API keys that expire soon, and print the new ones. All are replaced, or none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--expiring-within", type=duration, metavar="TIME", required=True, help="Which keys: such as 14d."
        )
        add_grace_option(parser)
        add_safety_options(parser)

    def handle(self, **options: Any) -> None:
        due = list(APIKey.objects.expiring_within(options["expiring_within"]).to_be_rotated().order_by("pk"))
        if options["dry_run"]:
            text = f"{table(due)}\nDry run: {_keys(due)} would be rotated." if due else "Dry run: no key is due."
            self.show(text, [as_json(key) for key in due])
            return
        if due:
            self.confirm(f"{table(due)}\nReplace {_keys(due)}?", yes=options["yes"])
        with transaction.atomic():  # only a secret that was printed is kept
            still_due = APIKey.objects.active().not_replaced().filter(pk__in=[key.pk for key in due])
            done = still_due.rotate(grace=options["grace"])
            text = "\n\n".join([*(rotated(*item) for item in done), f"Rotated {_keys(done)}."])
            self.show(text, [as_json(new, key=secret, replaces=as_json(old)) for old, new, secret in done])


def _keys(keys: Sized) -> str:
    return f"{len(keys)} {'key' if len(keys) == 1 else 'keys'}"
