"""`manage.py prepare_development`: what `make run` does before it serves."""

import os
import secrets
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandParser

from commands.base import StoreCommand
from commands.exits import ExitError
from pets.demo import CatalogueNotEmptyError, load_demo_catalogue
from petstore_site.apikeys.models import APIKey

KEY_NAME = "First key, issued by make run"
STAFF_NAME = "admin"
VOID = "The commit failed. The key and the password printed above do not work."


class Command(StoreCommand):
    help = (
        "Migrate the database and, the first time, load the demo catalogue, issue an API key and create a "
        "staff login, and show both. For development only."
    )
    examples = ("", "--port 8001")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="The host that the service will listen on.")
        parser.add_argument("--port", default="8000", help="The port that the service will listen on.")

    def handle(self, *, host: str, port: str, **_options: Any) -> None:
        if settings.HOSTED:
            raise ExitError(
                f"make run is for development, and PETSTORE_ENVIRONMENT is {settings.PETSTORE_ENVIRONMENT}. "
                "docs/serving.md explains how to serve there."
            )
        call_command("migrate", verbosity=0)
        loaded = _load_catalogue()
        with self.printed_before_commit(VOID):
            ready = Ready(_address(host, port), loaded, _first_key(), *_first_staff())
            self.show(_text(ready), ready._asdict())


class Ready(NamedTuple):
    """What a developer needs; secrets only when they are new."""

    address: str
    animals_loaded: int
    key: str | None
    username: str | None
    password: str | None


def _text(ready: Ready) -> str:
    animals = f"Loaded a demo catalogue of {ready.animals_loaded} animals.\n" if ready.animals_loaded else ""
    return (
        f"{animals}\n"
        f"  Pet Store     {ready.address}/           (API description: {ready.address}/docs/)\n"
        f"  API key       {ready.key or _where_key_was_shown()}\n"
        f"  Back office   {ready.address}/admin/     {_login(ready)}\n"
        f'  Try it        curl -H "Authorization: Bearer {ready.key or "<your key>"}" '
        f'"{ready.address}/v1/pets?status=available&limit=3"\n'
        "\n"
        "  Press Ctrl-C to stop. Your data is kept.\n"
    )


def _where_key_was_shown() -> str:
    first = APIKey.objects.order_by("pk")[0]
    return (
        f"was shown once, when {first.name!r} was issued on {first.created_at:%Y-%m-%d at %H:%M} UTC.\n"
        f"                Create another: {_manage()} issue_api_key NAME"
    )


def _login(ready: Ready) -> str:
    if ready.password:
        return f"{ready.username} / {ready.password}     (shown this once)"
    if ready.username:
        return f"sign in as {ready.username}; to set a new password: {_manage()} changepassword {ready.username}"
    return f"nobody can sign in yet; to create an account: {_manage()} create_admin NAME"


def _manage() -> str:
    """Return how to run a command on this database. Its URL may have a password, so it is not shown."""
    variables = [f"{name}=… " for name in ("DATABASE_URL", "DATABASE_URL_FILE") if os.environ.get(name)]
    return f"{''.join(variables)}.venv/bin/python manage.py"


def _load_catalogue() -> int:
    try:
        return load_demo_catalogue()[1]
    except CatalogueNotEmptyError:
        return 0


def _address(host: str, port: str) -> str:
    """Return where a browser on this machine finds a service that listens on `host`."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - only shown
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _first_key() -> str | None:
    if APIKey.objects.exists():
        return None
    _, secret = APIKey.objects.issue(name=KEY_NAME)
    return secret


def _first_staff() -> tuple[str | None, str | None]:
    """Return the account to sign in with, and its password if it is new."""
    users = get_user_model().objects
    staff = users.filter(is_staff=True, is_active=True).order_by("-is_superuser", "pk").first()
    if staff:
        return staff.get_username(), None
    if users.filter(username=STAFF_NAME).exists():
        return None, None
    password = secrets.token_urlsafe(12)
    users.create_superuser(STAFF_NAME, password=password)
    return STAFF_NAME, password
