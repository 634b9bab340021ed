"""`manage.py rotate_api_key`: a new key for a client that has one."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from commands.base import StoreCommand
from commands.exits import ExitError
from petstore_site.apikeys.management.base import (
    add_grace_option,
    add_key_id,
    add_secret_options,
    as_json,
    get_key,
    rotated,
)
from petstore_site.apikeys.models import RotationError


class Command(StoreCommand):
    help = "Replace an active API key and print the new one. The old one keeps working for the grace period."

    def add_arguments(self, parser: CommandParser) -> None:
        add_key_id(parser)
        add_grace_option(parser)
        add_secret_options(parser)

    def handle(self, **options: Any) -> None:
        old = get_key(options["key_id"])
        with transaction.atomic():  # only a secret that was printed is kept
            try:
                new, secret = old.rotate(grace=options["grace"])
            except RotationError as error:
                raise ExitError(str(error)) from None
            text = secret if options["secret_only"] else rotated(old, new, secret)
            self.show(text, as_json(new, key=secret, replaces=as_json(old)))
