"""What the templates of the back office draw: icons, and badges for states."""

import json
from datetime import date
from functools import cache, lru_cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from database.search import place
from history import naming, times

register = template.Library()
register.filter(times.when)
register.filter(naming.who)
register.filter(naming.opening)


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """Return the icon of that name in icons.svg. It says nothing to screen readers: a word is beside it."""
    sprite = static("petstore/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#i-{}"/></svg>', sprite, name)


@register.simple_tag
@cache
def glyph(name: str) -> SafeString:
    """Return the icon that a category has, in a box; a paw if it has none."""
    return format_html('<span class="glyph" aria-hidden="true">{}</span>', icon(name or "paw-print"))


@register.simple_tag
@lru_cache(maxsize=1024, typed=True)  # a text that is safe equals one that is not
def badge(kind: Any, label: Any) -> SafeString:
    """Return a state in a word, with the colour of its kind beside it."""
    return format_html('<span class="badge badge-{}">{}</span>', kind, label)


@register.filter
def contents(field: Any) -> Any:
    """Return what a form shows of a field that cannot be edited, a time as `when` writes it."""
    value = getattr(field.form.instance, str(field.field["field"]), None)
    return times.when(value, "minute") if isinstance(value, date) else field.contents()


@register.filter
def marked(text: str, needle: str) -> SafeString:
    """Return the text with what was searched for marked, where it is first."""
    part = place(text, needle)
    if part is None:
        return format_html("{}", text)
    return format_html("{}<mark>{}</mark>{}", text[: part.start], text[part], text[part.stop :])


@register.filter
def as_json(value: Any) -> str:
    """Return a value as the API writes it."""
    return json.dumps(value, ensure_ascii=False)


@register.filter
def door(actor: str) -> str:
    """Return the way by which someone changes something."""
    doors = {"staff": "back office", "key": "API", "import": "import", "undo": "undo of an import"}
    return doors.get(actor.split(" ", 1)[0], "command")


@register.filter
def face(actor: str) -> str:
    """Return the icon of what acts, nothing for a person."""
    faces = {"staff": "", "key": "key-round", "import": "file-up", "undo": "undo-2"}
    return faces.get(actor.split(" ", 1)[0], "activity")


@register.filter
def initials(user: Any) -> str:
    """Return two letters for a person."""
    words = user.get_full_name().split() or [user.get_username()]
    return str(words[0][:1] + words[-1][:1] if words[1:] else words[0][:2]).upper()
