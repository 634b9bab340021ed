"""`manage.py create_staff_roles`: the groups of the back office as `roles.py` has them."""

from typing import Any

from commands.base import StoreCommand
from petstore_site.staff.roles import ROLES, make_roles


class Command(StoreCommand):
    help = "Reset the back office groups to the permissions of their role. migrate does the same."

    def handle(self, **_options: Any) -> None:
        make_roles()
        self.report(f"{', '.join(ROLES)} have their permissions.", {"roles": [*ROLES]})
