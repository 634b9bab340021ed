"""`manage.py issue_api_key`: a key for a new client."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from commands.base import StoreCommand
from commands.exits import usage_error
from petstore_site.apikeys.management.base import add_secret_options, as_json, duration, issued
from petstore_site.apikeys.models import APIKey, Scope

ARGUMENTS = {"name": "NAME", "contact": "--contact", "rate_limit": "--rate-limit"}
"""What the fields of a key are called on the command line."""


class Command(StoreCommand):
    help = "Issue an API key and print it. Only its digest is stored, so it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Who or what uses the key.")
        parser.add_argument(
            "--scope", choices=Scope.values, default=Scope.WRITE.value, help="A write key can also read; default write."
        )
        parser.add_argument("--expires-in", type=duration, metavar="TIME", help="Such as 90d; default: never.")
        parser.add_argument(
            "--rate-limit", default="", metavar="N/min", help="Such as 600/min; default: the service's own limit."
        )
        parser.add_argument("--contact", default="", metavar="TEXT", help="Whom to ask or warn about the key.")
        add_secret_options(parser)

    def handle(self, **options: Any) -> None:
        lifetime = options["expires_in"]
        with transaction.atomic():  # only a secret that was printed is kept
            try:
                key, secret = APIKey.objects.issue(
                    name=options["name"],
                    contact=options["contact"],
                    scope=options["scope"],
                    rate_limit=options["rate_limit"],
                    expires_at=lifetime and timezone.now() + lifetime,
                )
            except ValidationError as error:
                raise usage_error(error, ARGUMENTS) from None
            self.show(secret if options["secret_only"] else issued(key, secret), as_json(key, key=secret))
