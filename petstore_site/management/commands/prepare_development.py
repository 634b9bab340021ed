"""`manage.py prepare_development`: what `make run` does before it serves."""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import Q

from pets.demo import CatalogueNotEmptyError, load_demo_catalogue
from petstore_site.apikeys.models import APIKey

KEY_NAME = "First key, issued by make run"
STAFF_NAME = "admin"


class Command(BaseCommand):
    """Makes a development database ready to use, and shows its key and staff login once."""

    help = (
        "Migrate; the first time also load the demonstration catalogue, issue an API key and make a staff "
        "login, and show both. Refused outside development."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add where the service will listen, for the lines shown."""
        parser.add_argument("--host", default="127.0.0.1", help="Where the service will listen.")
        parser.add_argument("--port", default="8000", help="Where the service will listen.")

    def handle(self, *, host: str, port: str, **_options: Any) -> None:
        """Prepare, and say what there is."""
        if settings.HOSTED:
            message = (
                f"make run is for development, and PETSTORE_ENVIRONMENT is {settings.PETSTORE_ENVIRONMENT}. "
                "docs/operations.md says how to serve there."
            )
            raise CommandError(message)
        call_command("migrate", verbosity=0)
        self._load_catalogue()
        with transaction.atomic():
            key, password = _first_key(), _first_staff()
        self._show(_address(host, port), key, password)

    def _load_catalogue(self) -> None:
        try:
            categories, pets = load_demo_catalogue()
        except CatalogueNotEmptyError:
            return
        self.stdout.write(f"Loaded a demonstration catalogue: {pets} animals in {categories} categories.")

    def _show(self, address: str, key: str | None, password: str | None) -> None:
        lines = [
            "",
            f"  Pet Store     {address}/           (API description: {address}/docs/)",
            f"  API key       {key or self._where_key_was_shown()}",
            f"  Back office   {address}/admin/     {self._login(password)}",
            "  Try it        "
            f'curl -H "Authorization: Bearer {key or "<your key>"}" "{address}/v1/pets?status=available&limit=3"',
            "",
            "  Stop with Ctrl-C. Started again, everything is still there.",
            "",
        ]
        self.stdout.write("\n".join(lines))

    def _where_key_was_shown(self) -> str:
        first = APIKey.objects.order_by("pk")[0]
        return (
            f"was shown once, when {first.name!r} was issued on {first.created_at:%Y-%m-%d at %H:%M} UTC; "
            "only its hash is kept.\n                Another: .venv/bin/python manage.py issue_api_key NAME"
        )

    def _login(self, password: str | None) -> str:
        if password:
            return f"{STAFF_NAME} / {password}     (shown this once)"
        return "the login was shown once; a new password: .venv/bin/python manage.py changepassword " + STAFF_NAME


def _address(host: str, port: str) -> str:
    """Return where a browser on this machine finds a service that listens on `host`."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - only shown
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _first_key() -> str | None:
    if APIKey.objects.exists():
        return None
    _, secret = APIKey.objects.issue(name=KEY_NAME)
    return secret


def _first_staff() -> str | None:
    users = get_user_model().objects
    if users.filter(Q(is_staff=True) | Q(username=STAFF_NAME)).exists():
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser(STAFF_NAME, password=password)
    return password
