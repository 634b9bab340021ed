"""Deleting the animals that were selected in the list: the page that asks, and doing it."""

from typing import Any

from django.contrib import messages
from django.contrib.admin.actions import delete_selected
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from changes.conflicts import latest_change_of_each
from pets.admin.deleted import said
from pets.admin.selecting import selected, selection_of
from pets.blocks import first_block
from pets.bulk import Seen
from pets.models import Pet

AT_ONCE = 500
"""Animals in one deletion: the page that asks names each of them."""

LEFT = "Not deleted, because someone changed or deleted them after you selected them: {}."


def ask(request: HttpRequest, animals: Any) -> HttpResponse | None:
    """Keep the selection and go to the page that asks; None if there are none or too many, which it has said."""
    selection = selected(request, animals, "deleted", AT_ONCE)
    if selection is None:
        return None
    return HttpResponseRedirect(reverse("admin:pets_pet_delete_selected", args=[selection.pk]))


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: Any, model_admin: Any, number: int) -> HttpResponse:
    """Ask, naming each animal, or delete them. Those that someone changed since they were selected are left."""
    if not model_admin.has_delete_permission(request):
        raise PermissionDenied
    selection = selection_of(request, number)
    back = f"{reverse('admin:pets_pet_changelist')}?{selection.filters if selection else ''}"
    seen = first_block(selection) if selection else {}
    with transaction.atomic():
        same = _unchanged(seen, lock=request.method == "POST")
        if not same:
            if selection is not None:
                messages.info(request, "Nothing was deleted. The selected animals were changed or deleted since.")
            return HttpResponseRedirect(back)
        request.said = said(request, len(same)), ""  # see `message_user`
        animals = Pet.objects.filter(pk__in=same).select_related("category").order_by("-pk")
        answer: Any = delete_selected(model_admin, request, animals)
    if answer is not None:
        answer.context_data["back"] = back
        return answer  # type: ignore[no-any-return]  # Django's action has no types
    if left := [str(number) for number in seen if number not in same]:
        messages.warning(request, LEFT.format(", ".join(left)))
    return HttpResponseRedirect(back)


def _unchanged(seen: Seen, *, lock: bool) -> list[int]:
    """Return which animals are as they were seen."""
    pets = Pet.objects.filter(pk__in=seen).order_by("pk")
    there = {pet.pk for pet in (pets.select_for_update() if lock else pets)}
    latest = dict(Pet.objects.filter(pk__in=there).values_list("pk", latest_change_of_each(Pet.history)))
    return [number for number in latest if latest[number] == seen[number]]
