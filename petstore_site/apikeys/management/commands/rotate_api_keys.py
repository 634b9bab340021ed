"""`manage.py rotate_api_keys`: new keys for all clients, or for those whose key expires soon."""

from collections.abc import Sized
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from commands.arguments import add_safety_options
from commands.base import StoreCommand, to_json
from commands.exits import Exit, ExitError
from petstore_site.apikeys.management import secrets_file
from petstore_site.apikeys.management.base import VOID, add_grace_option, as_json, duration, rotated, table
from petstore_site.apikeys.models import APIKey

VOID_FILE = "The commit failed. No key in {} works, unless show_api_key finds it."
NEEDS_FILE = "argument --all: needs --secrets-file, for so many secrets."

Rotated = tuple[APIKey, APIKey, str]


class Command(StoreCommand):
    help = "Replace all active API keys, or those that expire soon, and print the new ones. All are replaced, or none."
    examples = ("--expiring-within 14d --dry-run", "--all --grace 1h --secrets-file new-keys.jsonl")

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--expiring-within", type=duration, metavar="TIME", help="Which keys: such as 14d.")
        which.add_argument("--all", action="store_true", help="All active keys, after a leak.")
        add_grace_option(parser)
        parser.add_argument(
            "--secrets-file",
            type=Path,
            metavar="FILE",
            help="Write the new keys to a new file, one JSON object per line, and do not print them.",
        )
        add_safety_options(parser)

    def handle(self, **options: Any) -> None:
        file: Path | None = options["secrets_file"]
        if options["all"] and file is None and not options["dry_run"]:
            raise ExitError(NEEDS_FILE, status=Exit.USAGE)
        period = options["expiring_within"]
        keys = APIKey.objects.expiring_within(period).to_be_rotated() if period else APIKey.objects.active()
        due = list(keys.not_replaced().order_by("pk"))
        ending = list(keys.exclude(replaced_by=None).order_by("pk")) if options["all"] else []
        if options["dry_run"]:
            self._show_due(due, ending)
            return
        if due:
            self.confirm(f"{table([*due, *ending])}\nReplace {_keys(due)}?{_ending(ending, 'is')}", yes=options["yes"])
        with (
            self.printed_before_commit(VOID_FILE.format(file) if file else VOID),
            secrets_file.removed_if_it_fails(file) if file else nullcontext(),
        ):
            _end_within(ending, options["grace"])
            still_due = APIKey.objects.active().not_replaced().filter(pk__in=[key.pk for key in due])
            done = still_due.rotate(grace=options["grace"])
            self._hand_out(done, file)

    def _hand_out(self, done: list[Rotated], file: Path | None) -> None:
        with_secrets = [as_json(new, key=secret, replaces=as_json(old)) for old, new, secret in done]
        if file is None:
            text = "\n\n".join([*(rotated(*item) for item in done), f"Rotated {_keys(done)}."])
            self.show(text, with_secrets)
            return
        secrets_file.write(file, "".join(f"{to_json(key)}\n" for key in with_secrets))
        without = [as_json(new, replaces=as_json(old)) for old, new, _ in done]
        self.show(f"Rotated {_keys(done)}. The new keys are in {file}. Send them out, then delete it.", without)

    def _show_due(self, due: list[APIKey], ending: list[APIKey]) -> None:
        text = f"Dry run: {_keys(due)} would be rotated.{_ending(ending, 'would be')}"
        self.show(
            f"{table([*due, *ending])}\n{text}" if due or ending else "Dry run: no key is due.",
            [as_json(key) for key in due],
        )


def _end_within(keys: list[APIKey], grace: timedelta) -> None:
    """Let keys that were replaced before work for `grace` at most: they may have leaked too."""
    end = timezone.now() + grace
    for key in APIKey.objects.filter(pk__in=[key.pk for key in keys], expires_at__gt=end).locked():
        key.expires_at = end
        key.save(update_fields=["expires_at"])


def _ending(keys: Sized, verb: str) -> str:
    """Return the sentence about keys that were replaced before and still work."""
    were = "was" if len(keys) == 1 else "were"
    return f" The grace period of {_keys(keys)} that {were} replaced before {verb} shortened." if keys else ""


def _keys(keys: Sized) -> str:
    return f"{len(keys)} {'key' if len(keys) == 1 else 'keys'}"
