"""Passwords that somebody else chose: they must be changed, and soon."""

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone
from django.utils.crypto import get_random_string

LIFETIME = timedelta(hours=72)
"""How long a password that somebody else chose can be used to sign in."""


READABLE = "abcdefghjkmnpqrstuvwxyz23456789"
"""What a password that is passed on by people is made of: nothing that looks like something else."""


def in_its_lifetime() -> models.Q:
    """Return the condition that a temporary password can still be used."""
    return models.Q(given_at__gt=timezone.now() - LIFETIME)


class TemporaryPasswordManager(models.Manager["TemporaryPassword"]):
    """Marks passwords as temporary."""

    def mark(self, user: User) -> None:
        """Let `user` sign in with the present password for `LIFETIME`, and do nothing else before changing it."""
        self.update_or_create(user=user, defaults={"given_at": timezone.now()})

    def give(self, user: User) -> str:
        """Give `user`, stored or not, a new password; return it, which is the only time that anybody can read it."""
        password = get_random_string(16, READABLE)
        user.set_password(password)
        user.save()
        self.mark(user)
        return password


class TemporaryPassword(models.Model):
    """The account's password was chosen by somebody else. The row goes when its owner has chosen another."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    given_at = models.DateTimeField()

    objects: ClassVar = TemporaryPasswordManager()

    def __str__(self) -> str:
        """Return whose it is."""
        return f"temporary password of {self.user}"
