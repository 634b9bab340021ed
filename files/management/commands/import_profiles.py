"""`manage.py import_profiles`: how the columns of suppliers' files are read."""

from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from commands.exits import ExitError
from files.errors import quoted
from files.matching import no_profile
from history.naming import who
from pets.models import ColumnProfile


class Command(StoreCommand):
    """Lists profiles, and deletes one."""

    help = "List the profiles that import_pets --save-profile and the back office keep, or delete one."
    examples = ("", "--forget 'Lime Tree Farm'")

    def add_arguments(self, parser: CommandParser) -> None:
        """Add which one to delete."""
        parser.add_argument("--forget", metavar="NAME", help="Delete this profile.")

    def handle(self, **options: Any) -> None:
        """List them, or delete one."""
        if (name := options["forget"]) is None:
            profiles = ColumnProfile.objects.all()
            self.show("\n".join(map(_line, profiles)) or "There are no profiles.", [_json(each) for each in profiles])
            return
        deleted, _ = ColumnProfile.objects.filter(name=name).delete()
        if not deleted:
            raise ExitError(no_profile(name))
        self.report(f"Profile {quoted(name)} deleted.", {"state": "done", "name": name})


def _line(profile: ColumnProfile) -> str:
    pairs = zip(profile.header, profile.columns, strict=True)
    columns = ", ".join(f"{title}={column}" for title, column in pairs if column)
    saved = f"{profile.saved_at:%Y-%m-%d %H:%M} UTC by {who(profile.saved_by)}"
    words = (profile.values or {}).items()
    values = ", ".join(sorted(f"{column}:{value}={ours}" for column, pairs in words for value, ours in pairs.items()))
    return f"{profile.name}: {columns}. {f'Values: {values}. ' if values else ''}Saved {saved}."


def _json(profile: ColumnProfile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "columns": dict(zip(profile.header, profile.columns, strict=True)),
        "sheet": profile.sheet,
        "encoding": profile.encoding,
        "fill_merged": profile.fill_merged,
        "defaults": profile.defaults,
        "values": profile.values or {},
        "saved_by": profile.saved_by,
        "saved_at": profile.saved_at.isoformat(),
    }
