"""`manage.py purge_expired`: run it once a day."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand, add_safety_options
from idempotency.models import IdempotentRequest
from petstore_site.back_office.request_desk import records as desk
from petstore_site.back_office.request_desk.models import RequestRecord


class Command(StoreCommand):
    help = (
        "Delete the responses kept for idempotency keys older than 24 hours, and the request desk's records older "
        "than 7 days."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_safety_options(parser)

    def handle(self, **options: Any) -> None:
        dry_run, yes = options["dry_run"], options["yes"]
        if dry_run or self.would_ask(yes=yes):  # counting takes long in a large store
            keys, records = IdempotentRequest.objects.expired().count(), RequestRecord.objects.expired().count()
            if dry_run:
                self.show(f"Dry run: {_counted(keys, records)} would be deleted.", _result(keys, records, dry_run=True))
                return
            self.confirm(f"Delete {_counted(keys, records)}?", yes=yes)
        keys, records = IdempotentRequest.objects.purge(), desk.purge_all()
        self.report(f"Deleted {_counted(keys, records)}.", _result(keys, records, dry_run=False))


def _counted(keys: int, records: int) -> str:
    return f"{keys:,} idempotency keys and {records:,} request records"


def _result(keys: int, records: int, *, dry_run: bool) -> dict[str, Any]:
    return {"idempotency_keys": keys, "request_records": records, "dry_run": dry_run}
