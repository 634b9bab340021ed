"""`manage.py create_staff_roles`: the groups of the back office as `roles.py` has them."""

from typing import Any

from commands.base import StoreCommand
from petstore_site.staff.roles import Made, make_roles


class Command(StoreCommand):
    """Makes the roles, the same every time, and says what it had to change."""

    help = "Give the groups of the back office exactly the permissions of their role. migrate does the same."

    def handle(self, **_options: Any) -> None:
        """Make and report."""
        roles = make_roles()
        self.report("\n".join(map(_text, roles)), {"roles": [made._asdict() for made in roles]})


def _text(made: Made) -> str:
    done = ["created"] * made.created
    done += [f"added {', '.join(made.added)}"] * bool(made.added)
    done += [f"removed {', '.join(made.removed)}"] * bool(made.removed)
    return f"{made.role}: {'; '.join(done) or 'unchanged'}."
