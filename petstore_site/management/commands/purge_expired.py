"""`manage.py purge_expired`: meant to run once a day."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from idempotency.models import IdempotentRequest
from petstore_site.apikeys.models import RecordGap, RequestRecord


class Command(BaseCommand):
    """Deletes what nobody can ask for any more."""

    help = "Delete the answers kept for idempotency keys older than 24 hours, and the request desk's older than 7 days."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, **options: Any) -> None:
        """Delete and say how many."""
        keys, _ = IdempotentRequest.objects.expired().delete()
        records = _purge_records()
        text = f"Deleted {keys} idempotency keys and {records} records of requests."
        told = {"idempotency_keys": keys, "request_records": records}
        self.stdout.write(json.dumps(told) if options["json"] else text)


def _purge_records() -> int:
    """Delete in small steps, so that requests that write records do not wait."""
    RecordGap.objects.expired().delete()
    deleted = 0
    while step := RequestRecord.objects.purge():
        deleted += step
    return deleted
