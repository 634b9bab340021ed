"""What a record says happened, in words: what was asked, what was replied, and what the caller should do now."""

import json
from functools import cache
from typing import Any, NamedTuple

from django import template
from django.utils.safestring import SafeString
from rest_framework.permissions import SAFE_METHODS

from petstore_site.apikeys.models import APIKey
from petstore_site.apikeys.routes import address_of
from petstore_site.back_office.request_desk.models import KEPT, RequestRecord
from petstore_site.portal.description import description
from petstore_site.portal.documents import inline
from rest.errors import CODES

MOST_FOUND = 50
"""Records, and rows of history, that are shown of one ID, which a caller can send any number of times."""

MOST_ALIKE = 5
"""Records of the same error that are shown."""

MOST_OF_KEY = 20
"""Errors that the page of a key shows."""

SEARCHED = 100
"""The newest errors of the key, among which they are looked for."""

register = template.Library()

VERDICTS = {
    409: "Rejected: the caller must wait",
    429: "Rejected: the caller must wait",
    503: "Failed: the caller can try again",
}
"""Where the first digit of the status does not say who must do something."""


class Story(NamedTuple):
    """A record in words. `summary` is empty for an operation that the API does not have."""

    record: RequestRecord
    address: str
    summary: str
    verdict: str
    cure: SafeString

    @property
    def operation(self) -> str:
        """What was asked, as the beginning of a row: "Add an animal"."""
        return f"{self.summary[:1].upper()}{self.summary[1:]}" or "Something that the API doesn't have"

    @property
    def is_read(self) -> bool:
        """Whether it cannot have changed anything."""
        return self.record.method in SAFE_METHODS

    @property
    def kept_until(self) -> Any:
        """When the record is deleted, at the latest."""
        return self.record.at + KEPT


def story_of(record: RequestRecord) -> Story:
    """Return the record in words."""
    address = address_of(record.route)
    summary = summary_of(record.method, address)
    cure = inline(CODES[record.code].cure) if record.code in CODES else SafeString("")
    return Story(record, address, summary, _verdict(record.status), cure)


def alike(record: RequestRecord) -> list[RequestRecord]:
    """Return the newest other records of the same error, by the same key at the same operation."""
    if record.key is None or record.status < 400:
        return []
    errors = RequestRecord.objects.filter(key=record.key).kept().errors().order_by("-pk")[:SEARCHED]
    same = [error for error in errors if error.pk != record.pk and _kind(error) == _kind(record)]
    return same[:MOST_ALIKE]


def _kind(record: RequestRecord) -> tuple[str, str, str, int]:
    return record.route, record.method, record.code, record.status


def _verdict(status: int) -> str:
    if status < 400:
        return "Succeeded"
    return VERDICTS.get(status) or (
        "Rejected: the caller must change something" if status < 500 else "Failed: this is our error"
    )


def summary_of(method: str, address: str) -> str:
    """Return what an operation does ("add an animal"); nothing if the API does not have it."""
    return _summaries().get((address, "GET" if method == "HEAD" else method), "")


@cache
def _summaries() -> dict[tuple[str, str], str]:
    """Return what each operation does, by path and method, as the description of the API says it."""
    described = json.loads(description())
    return {
        (f"/v1{path}", method.upper()): f"{operation['summary'][0].lower()}{operation['summary'][1:]}"
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    }


@register.inclusion_tag("admin/request_desk/requestrecord/recent_errors.html")
def recent_errors(key: APIKey) -> dict[str, Any]:
    """Show the key's most recent requests with a 4xx or 5xx response, newest first."""
    return {"key": key, "records": RequestRecord.objects.filter(key=key).kept().errors().order_by("-pk")[:MOST_OF_KEY]}


@register.filter
def in_words(operation: str) -> str:
    """Return what `GET /v1/pets` does: "List animals"; nothing if the API does not have it."""
    words = summary_of(*operation.split(" ", 1))
    return words[:1].upper() + words[1:]
