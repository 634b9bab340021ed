"""The roles of the staff: what each role can do with which table."""

from collections.abc import Iterator
from typing import NamedTuple

from django.contrib.auth.models import Group, Permission
from django.db import transaction

ADMINISTRATOR = "Administrator"

SEE_CATALOGUE = {
    "pets.pet": "view",
    "pets.importrun": "view",
    "categories.category": "view",
}
CURATE = SEE_CATALOGUE | {
    "pets.pet": "view add change delete export restore",
    "pets.importrun": "view add",
    "categories.category": "view add change delete",
}
KEEP_KEYS = {
    "apikeys.apikey": "view add change",
    "apikeys.keyusage": "view",
    "request_desk.requestrecord": "view",
}
KEEP_STAFF = {
    "auth.user": "view add change delete",
    "auth.group": "view add change delete",
}

ROLES: dict[str, dict[str, str]] = {
    "Viewer": SEE_CATALOGUE,
    "Curator": CURATE,
    "Key manager": KEEP_KEYS,
    ADMINISTRATOR: CURATE | KEEP_KEYS | KEEP_STAFF,
}
"""Django group → table → permissions. Permissions that do not exist (yet) are skipped."""


class RoleChange(NamedTuple):
    """How one role changed; permissions are written `app.codename`."""

    role: str
    created: bool
    added: list[str]
    removed: list[str]


def permissions_of(role: str) -> Iterator[str]:
    """Yield the role's permissions as Django writes them, such as `pets.view_pet`."""
    for table, words in ROLES[role].items():
        app, model = table.split(".")
        for word in words.split():
            yield f"{app}.{word}_{model}"


@transaction.atomic
def make_roles() -> list[RoleChange]:
    """Give the groups exactly the permissions of the table. Other groups and all memberships stay."""
    known = {
        f"{permission.content_type.app_label}.{permission.codename}": permission
        for permission in Permission.objects.select_related("content_type")
    }
    return [_make_role(role, known) for role in ROLES]


def _make_role(role: str, known: dict[str, Permission]) -> RoleChange:
    group, created = Group.objects.get_or_create(name=role)
    has = {permission.pk for permission in group.permissions.all()}
    wanted = {known[name].pk for name in permissions_of(role) if name in known}
    if has != wanted:
        group.permissions.set(wanted)
    names = {permission.pk: name for name, permission in known.items()}
    return RoleChange(role, created, sorted(names[pk] for pk in wanted - has), sorted(names[pk] for pk in has - wanted))
