"""What someone selected in the list of animals, which is kept until it is done or too old."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest

from pets.blocks import TooManyError, select
from pets.models import Pet, Selection

NONE_LEFT = "Nothing changed. The selected animals are not in this list any more."
GONE = "Nothing changed. This selection was too old. Select the animals again."
TOO_MANY = "At most {most:,} animals can be {done} at once. Nothing changed. Filter or search for fewer."


def selected(request: HttpRequest, animals: QuerySet[Pet], done: str, most: int) -> Selection | None:
    """Keep the animals that were selected in the list; None if there are none or too many, which it has said."""
    try:
        selection = select(animals, user=request.user, filters=request.GET.urlencode(), most=most)  # type: ignore[arg-type]  # signed in
    except TooManyError:
        messages.error(request, TOO_MANY.format(most=most, done=done))
        return None
    if not selection.animals:  # someone else deleted them, or changed what the list is filtered by
        messages.warning(request, NONE_LEFT)
        return None
    return selection


def selection_of(request: HttpRequest, number: int) -> Selection | None:
    """Return the selection if it is this person's and still kept; else None, and say so."""
    selection = Selection.objects.filter(pk=number, user=request.user.pk).first()
    if selection is None:
        messages.error(request, GONE)
    return selection
