"""`manage.py prepare_development`: what `make run` does before it serves."""

import os
import secrets
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.db import transaction

from commands.base import StoreCommand
from commands.exits import ExitError
from pets.demo import load_demo_catalogue
from petstore_site.apikeys.models import APIKey

KEY_NAME = "First key, issued by make run"
STAFF_NAME = "admin"

TEXT = """
  Pet Store     {address}/           (API description: {address}/docs/)
  API key       {key}
  Back office   {address}/admin/     {login}
  Try it        curl -H "Authorization: Bearer {sent}" "{address}/v1/pets?status=available&limit=3"

  Press Ctrl-C to stop. Your data is kept.
"""
KEY_WAS_SHOWN = "was shown once. To issue another: {}.venv/bin/python manage.py issue_api_key NAME"
HAS_ACCOUNTS = "sign in with your account, or create one: {}.venv/bin/python manage.py create_admin NAME"


class Command(StoreCommand):
    help = (
        "Migrate the database and, the first time, load the demo catalogue, issue an API key and create a "
        "staff login, and show both. For development only."
    )

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
        with suppress(ExitError):  # it has animals
            load_demo_catalogue()
        with transaction.atomic():  # only a secret that was printed is kept
            address, password = _address(host, port), _first_password()
            key = None if APIKey.objects.exists() else APIKey.objects.issue(name=KEY_NAME)[1]
            here = "".join(f"{name}=… " for name in ("DATABASE_URL", "DATABASE_URL_FILE") if os.environ.get(name))
            login = f"{STAFF_NAME} / {password}     (shown this once)" if password else HAS_ACCOUNTS.format(here)
            shown = {"address": address, "key": key or KEY_WAS_SHOWN.format(here), "login": login}
            username = STAFF_NAME if password else None
            result = {"address": address, "key": key, "username": username, "password": password}
            self.show(TEXT.format(**shown, sent=key or "<your key>"), result)


def _address(host: str, port: str) -> str:
    """Return where a browser on this machine finds a service that listens on `host`."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - only shown
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _first_password() -> str | None:
    """Create an account if there is none, and return its password."""
    users = get_user_model().objects
    if users.exists():
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser(STAFF_NAME, password=password)
    return password
