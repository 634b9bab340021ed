"""`manage.py create_staff_roles`: the groups of the back office as `roles.py` has them."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from petstore_site.staff.roles import Made, make_roles


class Command(BaseCommand):
    """Makes the roles, the same every time, and says what it had to change."""

    help = "Make the groups of the back office hold exactly the permissions of their role; migrate does the same."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, **options: Any) -> None:
        """Make and tell."""
        roles = make_roles()
        if options["json"]:
            self.stdout.write(json.dumps({"roles": [made._asdict() for made in roles]}))
            return
        for made in roles:
            self.stdout.write(_told(made))


def _told(made: Made) -> str:
    done = ["created"] * made.created
    done += [f"added {', '.join(made.added)}"] * bool(made.added)
    done += [f"removed {', '.join(made.removed)}"] * bool(made.removed)
    return f"{made.role}: {'; '.join(done) or 'as it should be'}."
