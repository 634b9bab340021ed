"""What changed for callers of the API, from CHANGELOG.md, and what will be removed, from the settings."""

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.safestring import SafeString

from petstore_site.apikeys.routes import address_of
from petstore_site.portal import documents

FILE = settings.BASE_DIR / "CHANGELOG.md"
FOR_CALLERS = "API"
"""The heading in each release under which its changes of the API are."""


class Release(NamedTuple):
    """A version, and what changed in the API; without a date it is not released yet."""

    version: str
    released_at: datetime | None
    text: SafeString


def releases() -> list[Release]:
    """Return the releases, newest first."""
    text = FILE.read_text(encoding="utf-8")
    return [
        _release(str(title), section.text)
        for title, section in documents.sections(text, 3)
        if section.title == FOR_CALLERS
    ]


def _release(title: str, text: SafeString) -> Release:
    match = re.fullmatch(r"(\S+) \((\d{4}-\d\d-\d\d|unreleased)\)", title)
    if match is None:
        raise ValueError(f"CHANGELOG.md: a release must be written as '## 1.2.3 (2026-01-31)', not '{title}'.")
    released_at = None if match[2] == "unreleased" else datetime.fromisoformat(match[2]).replace(tzinfo=UTC)
    return Release(match[1], released_at, text)


def deprecations() -> list[dict[str, Any]]:
    """Return the deprecated operations: path, successor, since when, until when."""
    return [
        one | {"route": route, "path": address_of(route), "successor": address_of(one["successor"])}
        for route, one in settings.API_DEPRECATIONS.items()
    ]


def context() -> dict[str, Any]:
    """Return what the template of the changelog shows."""
    return {"releases": releases(), "deprecations": deprecations()}
