"""Deleting the animals that were selected in the list: the page that asks, and doing it."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from pets.admin.activity import report
from pets.admin.selecting import action, selection_of
from pets.admin.telling import animals
from pets.blocks import first_block
from pets.bulk import delete, plan
from pets.models import Pet

NOTHING = "Nothing was deleted. The selected animals were changed or deleted since."

ACTION = action("delete_selected", "Delete selected animals…", "pets_pet_delete_selected", permission="delete")


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("pets.delete_pet", raise_exception=True)
def confirm(request: Any, selection_id: int) -> HttpResponse:
    """Ask, naming each animal, or delete them. Those that someone changed since they were selected are left."""
    selection = selection_of(request, selection_id)
    back = f"{reverse('admin:pets_pet_changelist')}?{selection.filters if selection else ''}"
    seen = first_block(selection) if selection else {}
    same = plan(seen, "status", "").changes
    if request.method == "POST" and same:
        done = delete(seen, user=request.user)
        if done.pk is not None:
            report(request, done)
            return HttpResponseRedirect(back)
    elif same:
        shown = Pet.objects.filter(pk__in=[pet.pk for pet in same]).select_related("category").order_by("-pk")
        context = {"title": f"Delete {animals(len(same))}?", "animals": shown, "back": back, "opts": Pet._meta}  # noqa: SLF001 - Django's documented name
        context |= admin.site.each_context(request)
        return TemplateResponse(request, "admin/pets/pet/delete_confirmation.html", context)
    if selection is not None:
        messages.info(request, NOTHING)
    return HttpResponseRedirect(back)
