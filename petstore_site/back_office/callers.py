"""The names of the keys that changed animals: the history knows a key by its ID, which says nothing to people."""

from collections.abc import Iterable
from typing import Any

from django import template

from history import naming
from petstore_site.apikeys.models import APIKey

register = template.Library()

KEY = "key "
"""How the history writes an actor that is a key."""


def names(actors: set[str], reader: Any) -> dict[str, tuple[str, str]]:
    """Return the name and the contact of each of `actors` that is a key, if `reader` can see keys; by one query."""
    ids = {actor.removeprefix(KEY) for actor in actors if actor.startswith(KEY)}
    if not ids or not reader.has_perm("apikeys.view_apikey"):
        return {}
    rows = APIKey.objects.filter(key_id__in=ids).values_list("key_id", "name", "contact")
    return {f"{KEY}{key_id}": (name, contact) for key_id, name, contact in rows}


@register.simple_tag(takes_context=True)
def name_actors(context: Any, acts: Iterable[Any]) -> str:
    """Give each of what has an actor `who` and `contact`, as far as the reader of the page can see them."""
    naming.name_actors(acts, context["request"].user)
    return ""
