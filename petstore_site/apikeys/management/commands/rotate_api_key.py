"""`manage.py rotate_api_key`: a new key for a client that has one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from petstore_site.apikeys.management.base import (
    add_grace_option,
    add_secret_options,
    as_json,
    get_key,
    issued,
    key_id,
    replaced,
    to_json,
)
from petstore_site.apikeys.models import RotationError


class Command(BaseCommand):
    """Replaces one key and prints the new one, once."""

    help = "Issue a key in place of an active one and print it; the old one works until the grace is over."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add which key, how long the old one works, and how to print the new one."""
        parser.add_argument("key_id", metavar="KEY_ID", type=key_id, help="The id of the key to replace.")
        add_grace_option(parser)
        add_secret_options(parser)

    def handle(self, **options: Any) -> None:
        """Rotate and print."""
        old = get_key(options["key_id"])
        try:
            new, secret = old.rotate(grace=options["grace"])
        except RotationError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(to_json(as_json(new, key=secret, replaces=as_json(old))))
        elif options["secret_only"]:
            self.stdout.write(secret)
        else:
            self.stdout.write(f"{issued(new, secret)}\n{replaced(old)}")
