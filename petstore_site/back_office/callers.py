"""The names of the keys that changed animals: the history knows a key by its ID, which says nothing to people."""

from collections.abc import Iterable
from typing import Any

from django import template

from petstore_site.apikeys.models import APIKey
from petstore_site.templatetags.office import who

register = template.Library()

KEY = "key "
"""How the history writes an actor that is a key."""


@register.simple_tag(takes_context=True)
def name_actors(context: Any, rows: Iterable[Any]) -> str:
    """Give each row of history `who`, a name for people, and `contact`, whom to ask about a key; by one query.

    You see the name of a key if you can see keys.
    """
    named = [row for row in rows if row is not None]
    ids = {row.actor.removeprefix(KEY) for row in named if row.actor.startswith(KEY)}
    keys = _keys(ids) if ids and context["request"].user.has_perm("apikeys.view_apikey") else {}
    for row in named:
        name, contact = keys.get(row.actor.removeprefix(KEY), ("", ""))
        row.who, row.contact = name or who(row.actor), contact
    return ""


def _keys(ids: set[str]) -> dict[str, tuple[str, str]]:
    found = APIKey.objects.filter(key_id__in=ids).values_list("key_id", "name", "contact")
    return {key_id: (name, contact) for key_id, name, contact in found}
