"""Temporary passwords: someone else chose them, and the owner must soon change them."""

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone
from django.utils.crypto import get_random_string

LIFETIME = timedelta(hours=72)
"""How long you can sign in with a temporary password."""


READABLE = "abcdefghjkmnpqrstuvwxyz23456789"
"""The characters of a temporary password: none that looks like another."""


def in_its_lifetime() -> models.Q:
    """Return the condition that a temporary password can still be used."""
    return models.Q(given_at__gt=timezone.now() - LIFETIME)


class TemporaryPasswordManager(models.Manager["TemporaryPassword"]):
    """Mark passwords as temporary."""

    def mark(self, user: User) -> None:
        """Let `user` sign in with the current password for `LIFETIME`, only to change it."""
        self.update_or_create(user=user, defaults={"given_at": timezone.now()})

    def give(self, user: User) -> str:
        """Set a new password for `user`, write nothing else, and return it. It cannot be read again."""
        password = get_random_string(16, READABLE)
        user.set_password(password)
        user.save(update_fields=["password"])
        self.mark(user)
        return password


class KnownAddress(models.Model):
    """An address that an account signed in from: failed attempts from others do not lock it there."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    address = models.CharField(max_length=45)
    last_at = models.DateTimeField()

    class Meta:
        """One row for each account and address."""

        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "address"], name="known_address_is_one")]

    def __str__(self) -> str:
        return f"{self.address} of {self.user}"


class TemporaryPassword(models.Model):
    """Marks an account whose password someone else chose. Deleted when the owner chooses one."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    given_at = models.DateTimeField()

    objects: ClassVar = TemporaryPasswordManager()

    def __str__(self) -> str:
        return f"temporary password of {self.user}"
