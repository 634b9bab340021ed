"""What requests added to the catalogue, as the history of animals knows it: the request desk knows no animals."""

from datetime import timedelta
from typing import Any

from django import template

from changes.additions import of_requests
from pets.models import Pet
from petstore_site.back_office.request_desk.story import MOST_FOUND, Story

register = template.Library()

BEFORE = timedelta(seconds=1)
"""How much earlier than measured a request may have begun: the two clocks are not one."""


@register.simple_tag
def added_by(stories: list[Story]) -> list[tuple[Story, Any, bool]]:
    """Return each story with the animal that its request added, if any, and whether that was not deleted since.

    An ID can come with several requests. Each row of history belongs to the oldest request that can have written it.
    """
    rows = _rows(stories)
    there = set(Pet.objects.filter(pk__in={row.id for row in rows}).values_list("pk", flat=True)) if rows else set()
    additions = {}
    for story in sorted(stories, key=lambda story: story.record.at):  # processes save their records at other times
        change = next((row for row in rows if _is_by(row, story.record)), None)
        if change is not None:
            rows.remove(change)
        additions[story.record.pk] = story, change, change is not None and change.id in there
    return [additions[story.record.pk] for story in stories]


def _rows(stories: list[Story]) -> list[Any]:
    """Return what was written with the ID of these records, oldest first, also what was gathered since."""
    if not any(story.record.key and not story.is_read for story in stories):
        return []
    begun = min(story.record.at - timedelta(milliseconds=story.record.milliseconds) for story in stories)
    ended = max(story.record.at for story in stories)
    changes = of_requests(
        [f"key {story.record.key.key_id}" for story in stories if story.record.key], begun - BEFORE, ended
    )
    rows = Pet.history.filter(request_id=stories[0].record.request_id, undo_of=None)
    parts = [rows.filter(change=None), rows.filter(change__in=changes.values("pk"))]
    found = [row for part in parts for row in part.order_by("-history_id")[:MOST_FOUND]]
    return sorted(found, key=lambda row: row.history_id)[-MOST_FOUND:]


def _is_by(row: Any, record: Any) -> bool:
    """Return whether the request can have written the row; one that failed (5xx) can have, a rejected one cannot."""
    if record.key is None or 400 <= record.status < 500 or row.actor != f"key {record.key.key_id}":
        return False
    began = record.at - timedelta(milliseconds=record.milliseconds) - BEFORE
    return bool(began <= row.history_date <= record.at)
