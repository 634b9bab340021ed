"""Who can sign in: active staff members whose password has not expired."""

from functools import cache
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import Permission, User
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from petstore_site.staff.models import TemporaryPassword, in_its_lifetime
from petstore_site.staff.tasks import usable

SECOND_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
"""What counts as a second factor; recovery codes alone do not."""


class StaffBackend(ModelBackend):
    """Reject everyone else like a wrong password. A session ends as soon as its account is not staff any more."""

    def authenticate(  # type: ignore[override]  # Django's parameters have no types
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **more: Any
    ) -> AbstractBaseUser | None:
        """Return the user, or None. Each reason for None takes the same time."""
        user = super().authenticate(request, username=username, password=password, **more)
        expired = user and TemporaryPassword.objects.filter(user_id=user.pk).exclude(in_its_lifetime()).exists()
        return None if expired else user

    def user_can_authenticate(self, user: Any) -> bool:
        return bool(super().user_can_authenticate(user) and user.is_staff)

    def get_user(self, user_id: int) -> User | None:
        """Return the user of a session, with `has_second_factor` and `must_change_password`, in one query."""
        user = _with_states().filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """Return the usable permissions of an active user, those of a superuser too, by one query instead of two."""
        if not user_obj.is_active or user_obj.is_anonymous or obj is not None:
            return set()
        if not hasattr(user_obj, "every_permission"):
            user_obj.every_permission = usable(f"{app}.{codename}" for app, codename in _permissions(user_obj))
        permissions: set[str] = user_obj.every_permission
        return permissions


@cache
def _with_states() -> QuerySet[Any]:
    """Return the query of all users, made once: to make it takes longer than to ask it, at each page."""
    mine = {"user": OuterRef("pk")}
    return User.objects.annotate(
        has_second_factor=Exists(Authenticator.objects.filter(**mine, type__in=SECOND_FACTORS)),
        must_change_password=Exists(TemporaryPassword.objects.filter(**mine)),
    )


def _permissions(user: User) -> Any:
    every = Permission.objects.order_by().values_list("content_type__app_label", "codename")
    return every if user.is_superuser else every.filter(user=user).union(every.filter(group__user=user)).order_by()
