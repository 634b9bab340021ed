"""`manage.py issue_api_key`: a key for a new client."""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils import timezone

from commands.base import StoreCommand
from commands.exits import rejected
from petstore_site.apikeys.management.base import VOID, add_secret_options, as_json, duration, issued
from petstore_site.apikeys.models import APIKey, Scope


class Command(StoreCommand):
    """Issues one key and prints it, once."""

    help = "Issue an API key and print it; it is stored as a digest only and cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add what the key is to be, and how to print it."""
        parser.add_argument("name", metavar="NAME", help="Who or what uses the key.")
        parser.add_argument(
            "--scope", choices=Scope.values, default=Scope.WRITE.value, help="A write key may also read; default write."
        )
        parser.add_argument("--expires-in", type=duration, metavar="TIME", help="Such as 90d; default: never.")
        parser.add_argument(
            "--rate-limit", default="", metavar="N/min", help="Such as 600/min; default: the service's own limit."
        )
        parser.add_argument("--contact", default="", metavar="TEXT", help="Whom to ask or warn about the key.")
        add_secret_options(parser)

    def handle(self, **options: Any) -> None:
        """Issue and print."""
        with self.printed_before_commit(VOID):
            try:
                key, secret = APIKey.objects.issue(
                    name=options["name"],
                    contact=options["contact"],
                    scope=options["scope"],
                    rate_limit=options["rate_limit"],
                    expires_at=_from_now(options["expires_in"]),
                )
            except ValidationError as error:
                raise rejected(error) from None
            self.show(secret if options["secret_only"] else issued(key, secret), as_json(key, key=secret))


def _from_now(lifetime: timedelta | None) -> datetime | None:
    return None if lifetime is None else timezone.now() + lifetime
