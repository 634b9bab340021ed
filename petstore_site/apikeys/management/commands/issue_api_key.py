"""`manage.py issue_api_key`: a key for a new client."""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils import timezone

from commands import arguments
from commands.base import StoreCommand
from commands.exits import usage_error
from petstore_site.apikeys.management.base import VOID, add_secret_options, as_json, duration, issued
from petstore_site.apikeys.models import APIKey, Scope

ARGUMENTS = {"name": "NAME", "contact": "--contact", "rate_limit": "--rate-limit", "expires_at": "--expires"}
"""What the fields of a key are called on the command line."""


class Command(StoreCommand):
    help = "Issue an API key and print it. Only its digest is stored, so it cannot be shown again."
    examples = ('"Partner shop" --scope read --expires-in 90d', '"Nightly import" --rate-limit 600/min --secret-only')

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Who or what uses the key.")
        parser.add_argument(
            "--scope", choices=Scope.values, default=Scope.WRITE.value, help="A write key can also read; default write."
        )
        expiry = parser.add_mutually_exclusive_group()
        expiry.add_argument("--expires-in", type=duration, metavar="TIME", help="Such as 90d; default: never.")
        expiry.add_argument(
            "--expires", type=arguments.moment, metavar="DATE", help="Such as 2027-01-31: when that day begins, UTC."
        )
        parser.add_argument(
            "--rate-limit", default="", metavar="N/min", help="Such as 600/min; default: the service's own limit."
        )
        parser.add_argument("--contact", default="", metavar="TEXT", help="Whom to ask or warn about the key.")
        add_secret_options(parser)

    def handle(self, **options: Any) -> None:
        with self.printed_before_commit(VOID):
            try:
                key, secret = APIKey.objects.issue(
                    name=options["name"],
                    contact=options["contact"],
                    scope=options["scope"],
                    rate_limit=options["rate_limit"],
                    expires_at=_expiry(options),
                )
            except ValidationError as error:
                raise usage_error(error, ARGUMENTS) from None
            self.show(secret if options["secret_only"] else issued(key, secret), as_json(key, key=secret))


def _expiry(options: dict[str, Any]) -> datetime | None:
    lifetime: timedelta | None = options["expires_in"]
    fixed: datetime | None = options["expires"]
    return fixed if lifetime is None else timezone.now() + lifetime
