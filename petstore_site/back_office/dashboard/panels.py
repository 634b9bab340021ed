"""Which panels there are, and who sees which."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from petstore_site.back_office.dashboard import animals, imports, keys


@dataclass(frozen=True)
class Panel:
    """A part of the page, drawn by `admin/dashboard/NAME.html` with what `figures` returns."""

    name: str
    title: str
    permissions: tuple[str, ...]
    """What you need to see it: the permissions of the lists that its figures link to."""
    figures: Callable[[], dict[str, Any]]


PANELS = [
    Panel("stock", "Stock", ("pets.view_pet",), animals.in_stock),
    Panel("days", "Added and sold", ("pets.view_pet",), animals.per_day),
    Panel("imports", "Last imports", ("pets.view_importrun",), imports.latest),
    Panel("use", "Use of API keys", ("apikeys.view_apikey", "apikeys.view_keyusage"), keys.use),
    Panel("expiring", "Keys that expire soon", ("apikeys.view_apikey",), keys.expiring),
    Panel("deprecated", "Deprecated operations", ("apikeys.view_apikey", "apikeys.view_keyusage"), keys.deprecated),
]


def panels_for(user: User | AnonymousUser) -> list[dict[str, Any]]:
    """Return what the page needs of each panel that `user` can see. The others cost no query."""
    return [
        {"name": panel.name, "title": panel.title, "template": f"admin/dashboard/{panel.name}.html"} | panel.figures()
        for panel in PANELS
        if user.has_perms(panel.permissions)
    ]
