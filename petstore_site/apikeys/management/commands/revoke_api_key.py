"""`manage.py revoke_api_key`: the end of a key."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand, add_safety_options
from petstore_site.apikeys.management.base import add_key_id, as_json, get_key, moment


class Command(StoreCommand):
    help = "Revoke an API key for good, everywhere within a second. Revoking it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        add_key_id(parser)
        add_safety_options(parser)

    def handle(self, **options: Any) -> None:
        key = get_key(options["key_id"])
        named = f'key {key.key_id} of "{key.name}"'
        if options["dry_run"]:
            done = "is revoked already" if key.revoked_at else "would be revoked"
            self.show(f"Dry run: {named} {done}.", as_json(key, dry_run=True))
            return
        if not key.revoked_at:
            self.confirm(f"Revoke {named} for good?", yes=options["yes"])
        key.revoke()
        self.report(f"Revoked {named} at {moment(key.revoked_at)}.", as_json(key, dry_run=False))
