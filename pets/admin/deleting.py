"""Deleting the animals that were selected in the list: the page that asks, and doing it."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from changes.conflicts import latest_change_of_each
from pets.admin.activity import report
from pets.admin.selecting import selected, selection_of
from pets.blocks import first_block
from pets.bulk import Versions
from pets.deletion import delete
from pets.models import Pet

AT_ONCE = 500
"""Animals in one deletion: the page that asks names each of them."""

NOTHING = "Nothing was deleted. The selected animals were changed or deleted since."


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
    same = _unchanged(seen)
    if not same:
        if selection is not None:
            messages.info(request, NOTHING)
        return HttpResponseRedirect(back)
    if request.method == "POST":
        done = delete(seen, user=request.user)
        if done.pk is None:
            messages.info(request, NOTHING)
        else:
            report(request, done)
        return HttpResponseRedirect(back)
    animals = Pet.objects.filter(pk__in=same).select_related("category").order_by("-pk")
    context = {"title": f"Delete {len(same)} animals?", "queryset": animals, "back": back, "opts": model_admin.opts}
    context = model_admin.admin_site.each_context(request) | context
    return TemplateResponse(request, "admin/pets/pet/delete_selected_confirmation.html", context)


def _unchanged(seen: Versions) -> list[int]:
    """Return which animals are as they were seen."""
    there = Pet.objects.filter(pk__in=seen).order_by("pk")
    latest = dict(there.values_list("pk", latest_change_of_each(Pet.history)))
    return [number for number in latest if latest[number] == seen[number]]
