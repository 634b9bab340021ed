"""The built-in roles of the staff: the level that each has for a task."""

from django.contrib.auth.models import Group, Permission
from django.db import transaction

from petstore_site.staff.tasks import CHANGE, SEE, TASKS

ADMINISTRATOR = "Administrator"

ROLES: dict[str, dict[str, str]] = {
    "Viewer": {"animals": SEE, "imports": SEE, "categories": SEE},
    "Curator": {"animals": CHANGE, "imports": CHANGE, "exports": CHANGE, "categories": CHANGE},
    "Key manager": {"keys": CHANGE, "requests": SEE, "usage": SEE},
    ADMINISTRATOR: {name: CHANGE if task.change else SEE for name, task in TASKS.items()},
}
"""Django group → task → level. A task that is not there has NO."""


def permissions_of(role: str) -> frozenset[str]:
    """Return the role's permissions as Django writes them, such as `pets.view_pet`."""
    return frozenset[str]().union(*(TASKS[task].permissions(level) for task, level in ROLES[role].items()))


@transaction.atomic
def make_roles() -> None:
    """Give the groups exactly the permissions of the table. Other groups and all memberships stay."""
    known = {
        f"{permission.content_type.app_label}.{permission.codename}": permission
        for permission in Permission.objects.select_related("content_type")
    }
    for role in ROLES:
        group, _ = Group.objects.get_or_create(name=role)
        group.permissions.set(known[name] for name in permissions_of(role) if name in known)
