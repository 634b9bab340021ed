"""What other pages show of the request desk."""

from typing import Any

from django import template

from petstore_site.apikeys.models import APIKey
from petstore_site.request_desk.models import RequestRecord
from petstore_site.request_desk.story import summary_of

MOST_SHOWN = 20

register = template.Library()


@register.inclusion_tag("admin/request_desk/requestrecord/recent_errors.html")
def recent_errors(key: APIKey) -> dict[str, Any]:
    """Show the key's most recent requests with a 4xx or 5xx response, newest first."""
    return {"key": key, "records": RequestRecord.objects.filter(key=key).kept().errors().order_by("-pk")[:MOST_SHOWN]}


@register.filter
def in_words(operation: str) -> str:
    """Return what `GET /v1/pets` does: "List animals"; nothing if the API does not have it."""
    words = summary_of(*operation.split(" ", 1))
    return words[:1].upper() + words[1:]
