"""`manage.py create_admin USERNAME`: the first administrator, or one who is locked out."""

from contextlib import suppress
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.db import IntegrityError, transaction
from redis.exceptions import RedisError

from commands.base import StoreCommand
from commands.exits import ExitError, usage_error
from petstore_site.staff import lockout
from petstore_site.staff.models import LIFETIME, TemporaryPassword
from petstore_site.staff.roles import ADMINISTRATOR, make_roles

HOURS = round(LIFETIME.total_seconds() / 3600)


class Command(StoreCommand):
    help = (
        "Create an administrator and print a one-time password, to be changed at the first sign-in. "
        f"It works for {HOURS} hours."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", metavar="USERNAME", help="The name to sign in with.")
        parser.add_argument(
            "--reset",
            action="store_true",
            help="Restore access to an account: new password, no second factors, active. Permissions stay.",
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--json", action="store_true", help="Print JSON instead of sentences.")
        how.add_argument("--password-only", action="store_true", help="Print only the password, for a pipe.")

    def handle(self, *, username: str, reset: bool, **options: Any) -> None:
        with transaction.atomic():  # only a secret that was printed is kept
            user = _account(username, exists=reset)
            password = TemporaryPassword.objects.give(user)
            Authenticator.objects.filter(user=user).delete()
            with suppress(RedisError):  # a lock ends by itself
                lockout.unlock(username)
            if not reset:
                make_roles()
                user.groups.add(Group.objects.get(name=ADMINISTRATOR))
            text = password if options["password_only"] else _text(username, password, reset=reset)
            self.show(text, {"username": username, "password": password, "hours": HOURS, "reset": reset})


def _account(username: str, *, exists: bool) -> User:
    new = User(username=username, is_superuser=True)
    try:  # before a database is asked for a name that it cannot have
        new.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise usage_error(error, {"username": "USERNAME"}) from None
    user = User.objects.filter(username=username).first()
    if exists and user is None:
        raise ExitError(f"There is no account {username!r} to reset.")
    taken = ExitError(f"The account {username!r} exists already. To restore access: create_admin {username} --reset")
    if not exists and user is not None:
        raise taken
    user = user or new
    user.is_active = user.is_staff = True
    try:
        user.save()
    except IntegrityError:  # someone else created it at the same moment
        raise taken from None
    return user


def _text(username: str, password: str, *, reset: bool) -> str:
    done = "Reset the account {} and removed its second factors." if reset else "Created the account {}."
    return (
        f"{done.format(username)} Sign in within {HOURS} hours with this password and choose another:\n\n"
        f"    {password}\n\n"
        "Copy it now. You won't see it again."
    )
