"""`manage.py revoke_api_key`: the end of a key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from petstore_site.apikeys.management.base import add_json_option, as_json, get_key, key_id, moment, to_json


class Command(BaseCommand):
    """Revokes one key."""

    help = "Revoke an API key for good, everywhere within a second. Revoking it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add which key."""
        parser.add_argument("key_id", metavar="KEY_ID", type=key_id, help="The id of the key to revoke.")
        add_json_option(parser)

    def handle(self, **options: Any) -> None:
        """Revoke and print."""
        key = get_key(options["key_id"])
        key.revoke()
        sentence = f'Key {key.key_id} of "{key.name}" is revoked since {moment(key.revoked_at)}.'
        self.stdout.write(to_json(as_json(key)) if options["json"] else sentence)
