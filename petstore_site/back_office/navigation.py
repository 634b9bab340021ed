"""The navigation beside every page: by task, and to each person only what they can open."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from pets.permissions import SEE_ANIMALS


class Link(NamedTuple):
    """A line of the navigation."""

    label: str
    icon: str
    page: str
    """The name of the page it leads to, such as `pets_pet_changelist`."""
    permissions: tuple[str, ...]
    """Any of these opens it."""
    beside: str | tuple[str, ...] = ""
    """The beginnings of the names of pages that are part of it too."""
    heading: str = ""
    """The heading of the page, if not the label."""
    singular: str = ""
    """One of what it lists."""


SEE_ACTIVITY = (*SEE_ANIMALS, "pets.view_importrun", "pets.add_importrun")
SEE_CATEGORIES = ("categories.view_category", "categories.change_category")
SEE_KEYS = ("apikeys.view_apikey", "apikeys.change_apikey")
SEE_REQUESTS = ("request_desk.view_requestrecord",)
SEE_STAFF = ("auth.view_user", "auth.change_user")
SEE_ROLES = ("auth.view_group", "auth.change_group")

ANIMALS = ("pets_pet_", "pets_importrun_")

GROUPS = {
    "": [Link("Overview", "layout-dashboard", "index", ())],
    "Animals": [
        Link("All animals", "paw-print", "pets_pet_changelist", SEE_ANIMALS, ANIMALS, "Animals", "animal"),
        Link("Activity", "history", "activity", SEE_ACTIVITY, "activity_"),
        Link("Categories", "tags", "categories_category_changelist", SEE_CATEGORIES, "categories_", "", "category"),
    ],
    "API": [
        Link("Keys", "key-round", "apikeys_apikey_changelist", SEE_KEYS, "apikeys_apikey_", "API keys", "API key"),
        Link("Requests", "message-square-warning", "request_desk_requestrecord_changelist", SEE_REQUESTS, "request_"),
        Link("Usage", "activity", "apikeys_keyusage_changelist", ("apikeys.view_keyusage",), "apikeys_keyusage_"),
    ],
    "Team": [
        Link("Staff", "users", "auth_user_changelist", SEE_STAFF, "auth_user_", "", "staff member"),
        Link("Roles", "shield-check", "auth_group_changelist", SEE_ROLES, "auth_group_", "", "role"),
    ],
}


def may_open(user: Any, permissions: tuple[str, ...]) -> bool:
    """Return whether the user has any of the permissions, or none is needed."""
    return not permissions or any(map(user.has_perm, permissions))


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the template variables `navigation`, groups of links, and `section`, the link that the page belongs to.

    Permissions are looked up only by a page that shows one of them.
    """
    groups = SimpleLazyObject(lambda: _groups(request))
    return {"navigation": groups, "section": SimpleLazyObject(lambda: _section(groups))}


def _groups(request: Any) -> list[dict[str, Any]]:
    here = _page_of(request)
    groups = [
        {
            "label": label,
            "links": [_shown(link, here) for link in links if may_open(request.user, link.permissions)],
        }
        for label, links in GROUPS.items()
    ]
    return [group for group in groups if group["links"]]


def _page_of(request: Any) -> Link | None:
    name = getattr(request.resolver_match, "url_name", None) or ""
    links = [link for links in GROUPS.values() for link in links]
    exact = (link for link in links if link.page == name)
    return next(exact, next((link for link in links if link.beside and name.startswith(link.beside)), None))


def _shown(link: Link, here: Link | None) -> dict[str, Any]:
    return link._asdict() | {
        "is_here": link is here,
        "address": reverse(f"admin:{link.page}"),
        "heading": link.heading or link.label,
    }


def _section(groups: Any) -> dict[str, Any]:
    return next((link for group in groups for link in group["links"] if link["is_here"]), {})
