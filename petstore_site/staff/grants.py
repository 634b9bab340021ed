"""What an administrator may grant, whom they may edit, and who is one: nothing beyond what they can do themselves."""

from collections.abc import Iterable
from hashlib import sha256

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Exists, OuterRef, Q, QuerySet

from petstore_site.staff.roles import ADMINISTRATOR


def grantable_permissions(user: User) -> QuerySet[Permission]:
    """Return the permissions that the user has, for a superuser all."""
    if user.is_superuser:
        return Permission.objects.all()
    return Permission.objects.filter(pk__in=user.user_permissions.values("pk")) | Permission.objects.filter(
        pk__in=Permission.objects.filter(group__user=user).values("pk")
    )


def names_of(permissions: QuerySet[Permission]) -> frozenset[str]:
    """Return them as Django writes them, such as `pets.view_pet`."""
    columns = permissions.values_list("content_type__app_label", "codename")
    return frozenset(f"{app}.{codename}" for app, codename in columns)


def held_by(roles: Iterable[Group]) -> dict[int, set[str]]:
    """Return role → its permissions, in one query for all."""
    columns = ("group_id", "permission__content_type__app_label", "permission__codename")
    held: dict[int, set[str]] = {role.pk: set() for role in roles}
    for role, app, codename in Group.permissions.through.objects.filter(group__in=held).values_list(*columns):
        held[role].add(f"{app}.{codename}")
    return held


def grantable_roles(user: User) -> QuerySet[Group]:
    """Return the roles that can do nothing that the user cannot."""
    lacking = Permission.objects.exclude(pk__in=grantable_permissions(user).values("pk"))
    return Group.objects.exclude(pk__in=Group.objects.filter(permissions__in=lacking).values("pk"))


def may_edit(user: User, member: User) -> bool:
    """Return whether an account can do nothing that the user cannot: who resets a password can sign in with it."""
    if user.is_superuser or member.is_superuser:
        return user.is_superuser
    return not grantable_permissions(member).exclude(pk__in=grantable_permissions(user).values("pk")).exists()


def may_edit_role(user: User, role: Group) -> bool:
    """Return whether a role can do nothing that the user cannot: deleting a stronger one would disarm its people."""
    return not role.permissions.exclude(pk__in=grantable_permissions(user).values("pk")).exists()


def version_of(member: User) -> str:
    """Return the version of an account, which has no history: whether it can sign in, and its roles."""
    roles = sorted(role.pk for role in member.groups.all()) if member.pk else []
    return f"{member.is_active:d}{member.is_staff:d}{member.is_superuser:d} {roles}"


def version_of_role(held: Iterable[str]) -> str:
    """Return the version of a role with these permissions."""
    return sha256(" ".join(sorted(held)).encode()).hexdigest()


def is_administrator(member: User) -> bool:
    """Return whether the account is an active administrator."""
    return bool(_administrators().filter(pk=member.pk).exists())


def others_administrate(*members: User) -> bool:
    """Return whether there is an active administrator beside these."""
    return bool(_administrators().exclude(pk__in=[member.pk for member in members]).exists())


def lock_administrators() -> None:
    """Let one transaction at a time take administrators away: each of two would count the other's as still there."""
    Group.objects.select_for_update(no_key=True).filter(name=ADMINISTRATOR).first()


def _administrators() -> QuerySet[User]:
    role = Group.objects.filter(name=ADMINISTRATOR, user=OuterRef("pk"))
    return User.objects.filter(Q(is_superuser=True) | Exists(role), is_active=True, is_staff=True)
