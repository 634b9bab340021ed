"""The animals before and after one in the list that it was opened from."""

from copy import copy
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, QueryDict

from history.admin import FILTERS
from pets.admin import filters, listing


class Beside(listing.PetChangeList):
    """The list, asked for the neighbours of one animal by their keys: without its pages, a count or an OFFSET."""

    previous: int | None
    next: int | None

    def get_results(self, request: HttpRequest) -> None:
        match: Any = request.resolver_match
        number = int(match.kwargs["object_id"])
        found = self._sorted(0, listing.LISTED) if self.order[0] != "added" else None
        if found is not None:
            at, around = found.index(number) if number in found else -1, [None, *found, None]
            self.previous, self.next = (None, None) if at < 0 else (around[at], around[at + 2])
            return
        older, newer = self._around(number)
        self.previous, self.next = (older, newer) if self._oldest_first else (newer, older)

    def _around(self, number: int) -> tuple[int | None, int | None]:
        keys = self.queryset.order_by().values_list("pk", flat=True)
        far = self._scattered or any(self.params.get(name) for name in filters.SPAN)
        near = keys.filter(pk__gte=number - listing.NEWEST, pk__lte=number + listing.NEWEST) if far else keys
        older = near.filter(pk__lt=number).order_by("-pk").first()
        newer = near.filter(pk__gt=number).order_by("pk").first()
        if far and None in {older, newer}:  # as with the pages of such a list, the index finds them
            found = list(keys[: listing.LISTED])
            older = older or max((key for key in found if key < number), default=None)
            newer = newer or min((key for key in found if key > number), default=None)
        return older, newer


def neighbours(model_admin: Any, request: HttpRequest) -> dict[str, int | None]:
    """Return the keys of the `previous` and the `next` animal; none if the address names a list that is none."""
    of_list = copy(request)
    of_list.GET = QueryDict(request.GET.get(FILTERS, ""))
    try:
        listed = model_admin.get_changelist_instance(of_list)
    except (IncorrectLookupParameters, SuspiciousOperation):
        return {}
    return {"previous": listed.previous, "next": listed.next}
