"""Which store a page belongs to: production, staging or development."""

from django.conf import settings
from django.http import HttpRequest

ICONS = {
    "production": "petstore/icon.svg",
    "staging": "petstore/icon-staging.svg",
    "development": "petstore/icon-development.svg",
}


def environment(_request: HttpRequest) -> dict[str, str]:
    """Return the template variables that show the environment: its name and the icon in the browser's tab."""
    name = settings.PETSTORE_ENVIRONMENT
    return {"petstore_environment": name, "petstore_icon": ICONS[name]}
