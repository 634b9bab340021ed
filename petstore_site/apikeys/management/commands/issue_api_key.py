"""`manage.py issue_api_key`: a key for a new client."""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from petstore_site.apikeys.management.base import add_secret_options, as_json, duration, issued, to_json
from petstore_site.apikeys.models import APIKey, Scope


class Command(BaseCommand):
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
        try:
            key, secret = APIKey.objects.issue(
                name=options["name"],
                contact=options["contact"],
                scope=options["scope"],
                rate_limit=options["rate_limit"],
                expires_at=_from_now(options["expires_in"]),
            )
        except ValidationError as error:
            mistakes = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
            raise CommandError("\n".join(mistakes)) from None
        if options["json"]:
            self.stdout.write(to_json(as_json(key, key=secret)))
        else:
            self.stdout.write(secret if options["secret_only"] else issued(key, secret))


def _from_now(lifetime: timedelta | None) -> datetime | None:
    return None if lifetime is None else timezone.now() + lifetime
