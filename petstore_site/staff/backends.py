"""Who can sign in: active staff members whose password has not expired."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from petstore_site.staff.models import TemporaryPassword, in_its_lifetime

SECOND_FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
"""What counts as a second factor; recovery codes alone do not."""


class StaffBackend(ModelBackend):
    """Reject everyone else like a wrong password. A session ends as soon as its account is not staff any more."""

    def authenticate(  # type: ignore[override]  # Django's parameters have no types
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **more: Any
    ) -> AbstractBaseUser | None:
        """Return the user, or None. Each reason for None takes the same time."""
        user = super().authenticate(request, username=username, password=password, **more)
        return None if user is None or _expired(user) else user

    def user_can_authenticate(self, user: Any) -> bool:
        """Return whether this is an active staff member."""
        return bool(super().user_can_authenticate(user) and user.is_staff)

    def get_user(self, user_id: int) -> User | None:
        """Return the user of a session, with `has_second_factor` and `must_change_password`, in one query."""
        mine = {"user": OuterRef("pk")}
        user = (
            User.objects.annotate(
                has_second_factor=Exists(Authenticator.objects.filter(**mine, type__in=SECOND_FACTORS)),
                must_change_password=Exists(TemporaryPassword.objects.filter(**mine)),
            )
            .filter(pk=user_id)
            .first()
        )
        return user if user is not None and self.user_can_authenticate(user) else None


def _expired(user: AbstractBaseUser) -> bool:
    return TemporaryPassword.objects.filter(user_id=user.pk).exclude(in_its_lifetime()).exists()
