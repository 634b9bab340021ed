"""What someone selected in the list of animals, which is kept until it is done or too old."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from pets.blocks import AT_MOST, TooManyError, select
from pets.models import Selection

NONE_LEFT = "Nothing changed. The selected animals are not in this list any more."
GONE = "Nothing changed. This selection was too old. Select the animals again."
TOO_MANY = "At most {most:,} animals can be {done} at once. Nothing changed. Filter or search for fewer."


MOST = {"change": AT_MOST, "delete": 500}
"""Animals that can be selected for it; the page that asks before a deletion names each of them."""


def action(name: str, description: str, page: str, *arguments: str, permission: str) -> Any:
    """Return an action of the list: it keeps the animals that were selected, and goes to the page that asks."""

    @admin.action(permissions=[permission], description=description)
    def ask(_model_admin: admin.ModelAdmin, request: HttpRequest, animals: Any) -> HttpResponse | None:
        try:
            selection = select(animals, user=request.user, filters=request.GET.urlencode(), most=MOST[permission])  # type: ignore[arg-type]  # signed in
        except TooManyError:
            messages.error(request, TOO_MANY.format(most=MOST[permission], done=f"{permission}d"))
            return None
        if not selection.animals:  # someone else deleted them, or changed what the list is filtered by
            messages.warning(request, NONE_LEFT)
            return None
        return HttpResponseRedirect(reverse(f"admin:{page}", args=[selection.pk, *arguments]))

    ask.__name__ = name
    return ask


def selection_of(request: HttpRequest, number: int) -> Selection | None:
    """Return the selection if it is this person's and still kept; else None, and say so."""
    selection = Selection.objects.filter(pk=number, user=request.user.pk).first()
    if selection is None:
        messages.error(request, GONE)
    return selection
