"""What the templates of the back office draw: icons, and badges for states."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return the icon of that name in icons.svg. It says nothing to screen readers: a word is beside it."""
    sprite = static("petstore/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#i-{}"/></svg>', sprite, name)


@register.simple_tag
def badge(kind: Any, label: Any) -> SafeString:
    """Return a state in a word, with the colour of its kind beside it."""
    return format_html('<span class="badge badge-{}">{}</span>', kind, label)


@register.filter
def moment(at: datetime | None) -> str:
    """Return a time as people say it, in UTC: "Today 15:12", "19 Nov 09:40", "19 Nov 2025, 09:40"."""
    if at is None:
        return "–"  # noqa: RUF001 - a dash
    at, today = timezone.localtime(at), timezone.localdate()
    if today - at.date() == timedelta():
        return f"Today {at:%H:%M}"
    return f"{at.day} {at:%b}{f' {at.year},' if at.year != today.year else ''} {at:%H:%M}"


@register.filter
def initials(user: Any) -> str:
    """Return two letters for a person."""
    words = user.get_full_name().split() or [user.get_username()]
    return str(words[0][:1] + words[-1][:1] if words[1:] else words[0][:2]).upper()
