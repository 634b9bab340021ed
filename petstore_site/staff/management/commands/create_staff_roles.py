"""`manage.py create_staff_roles`: the groups of the back office as `roles.py` has them."""

from typing import Any

from commands.base import StoreCommand
from petstore_site.staff.roles import RoleChange, make_roles


class Command(StoreCommand):
    help = "Reset the back office groups to the permissions of their role. migrate does the same."
    examples = ("", "--json")

    def handle(self, **_options: Any) -> None:
        roles = make_roles()
        self.report("\n".join(map(_text, roles)), {"roles": [change._asdict() for change in roles]})


def _text(change: RoleChange) -> str:
    done = ["created"] * change.created
    done += [f"added {', '.join(change.added)}"] * bool(change.added)
    done += [f"removed {', '.join(change.removed)}"] * bool(change.removed)
    return f"{change.role}: {'; '.join(done) or 'unchanged'}."
