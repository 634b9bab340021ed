"""`manage.py create_admin USERNAME`: the first person, or one who is locked out."""

import json
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from petstore_site.staff.models import LIFETIME, TemporaryPassword
from petstore_site.staff.roles import ADMINISTRATOR, make_roles

HOURS = round(LIFETIME.total_seconds() / 3600)


class Command(BaseCommand):
    """Makes an account that may do everything, and prints its one-time password, once."""

    help = (
        "Make an administrator and print a password for the first sign-in, where it must be changed. "
        f"It works for {HOURS} hours."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add whose account it is, and how to print."""
        parser.add_argument("username", metavar="USERNAME", help="The name to sign in with.")
        parser.add_argument("--email", default="", help="Whom to ask about the account; nothing is sent to it.")
        parser.add_argument(
            "--reset",
            action="store_true",
            help="The account is there: a new password, no second factors, active again, with the rights it has.",
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--json", action="store_true", help="Print one JSON object.")
        how.add_argument("--password-only", action="store_true", help="Print the password alone, for a pipe.")

    def handle(self, *, username: str, email: str, reset: bool, **options: Any) -> None:
        """Make or reset, and print."""
        with transaction.atomic():
            user = _account(username, email, there=reset)
            password = TemporaryPassword.objects.give(user)
            Authenticator.objects.filter(user=user).delete()
            if not reset:
                make_roles()
                user.groups.add(Group.objects.get(name=ADMINISTRATOR))
        if options["json"]:
            told = {"username": username, "password": password, "hours": HOURS, "reset": reset}
            self.stdout.write(json.dumps(told))
        else:
            self.stdout.write(password if options["password_only"] else _told(username, password, reset=reset))


def _account(username: str, email: str, *, there: bool) -> User:
    user = User.objects.filter(username=username).first()
    if there and user is None:
        message = f"There is no account {username!r} to reset."
        raise CommandError(message)
    if not there and user is not None:
        message = f"The account {username!r} is there already. To let it in again: create_admin {username} --reset"
        raise CommandError(message)
    user = user or User(username=username, is_superuser=True)
    user.email = email or user.email
    user.is_active = user.is_staff = True
    _check(user)
    return user


def _check(user: User) -> None:
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        mistakes = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
        raise CommandError("\n".join(mistakes)) from None


def _told(username: str, password: str, *, reset: bool) -> str:
    done = "let in again, without its second factors" if reset else "made"
    return (
        f"The account {username} was {done}. Sign in within {HOURS} hours with this password, and choose another:\n\n"
        f"    {password}\n\n"
        "Keep it now, it is not shown again."
    )
