"""`manage.py purge_expired`: meant to run once a day."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from petstore_site.idempotency.models import IdempotentRequest


class Command(BaseCommand):
    """Deletes what nobody can ask for any more."""

    help = "Delete the answers kept for idempotency keys older than 24 hours."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, **options: Any) -> None:
        """Delete and say how many."""
        deleted, _ = IdempotentRequest.objects.expired().delete()
        text = f"Deleted {deleted} idempotency keys."
        self.stdout.write(json.dumps({"idempotency_keys": deleted}) if options["json"] else text)
