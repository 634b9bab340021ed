"""The guide: docs/api.md, in groups of sections."""

from itertools import groupby
from typing import Any

from django.conf import settings

from petstore_site.portal import documents

FILE = settings.BASE_DIR / "docs" / "api.md"
GROUPS, SECTIONS = 2, 3
"""Levels of headings."""


def context() -> dict[str, Any]:
    """Return what the template of the guide shows."""
    text = FILE.read_text(encoding="utf-8")
    grouped = groupby(documents.sections(text, SECTIONS), key=lambda found: found[0])
    groups = [{"title": title, "sections": [section for _, section in found]} for title, found in grouped]
    return {"introduction": documents.introduction(text), "groups": groups}
