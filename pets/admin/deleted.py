"""The page of deleted animals, from which an authorised person restores one."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from categories.models import Category
from changes.numbers import row_number
from pets.admin.permissions import may_see_animals
from pets.models import Pet
from pets.restoring import SEARCHED, RestoreRejectedError, deleted_animals
from pets.restoring import restore as bring_back

LISTED = 100
"""Animals on the page. The search finds older ones."""


def may_restore(request: Any) -> bool:
    """Return whether the user may see deleted animals and restore them."""
    return bool(request.user.has_perm("pets.restore_pet"))


def last_of(number: str) -> Any:
    """Return the last row of history of the animal with that ID, if it was deleted; else None."""
    if row_number(number) is None or Pet.objects.filter(pk=number).exists():
        return None
    return Pet.history.filter(id=number).select_related("category").order_by("-history_id").first()


def said(request: Any, count: int) -> str:
    """Return what is said after so many were deleted."""
    done = "1 animal was deleted." if count == 1 else f"{count:,} animals were deleted."
    link = format_html(' <a href="{}">Deleted animals</a>', reverse("admin:pets_pet_deleted"))
    return format_html("{}{}", done, link if may_restore(request) else "")


@require_safe
def show(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show the newest deletions, or those that are searched for."""
    if not may_restore(request):
        raise PermissionDenied
    needle = request.GET.get("q", "").replace("\0", "").strip()
    found = list(deleted_animals(needle)[: LISTED + 1])
    shown = {"title": "Deleted animals", "needle": needle, "searched": SEARCHED}
    shown |= {"deletions": found[:LISTED], "more": len(found) > LISTED, "categories": Category.objects.all()}
    return TemplateResponse(request, "admin/pets/pet/deleted.html", context | shown)


@require_POST
def restore(request: HttpRequest, number: int) -> HttpResponse:
    """Restore one and go to its page, or say why not."""
    if not may_restore(request):
        raise PermissionDenied
    try:
        chosen = request.POST.get("category", "")
        pet = bring_back(number, category=row_number(chosen))
    except RestoreRejectedError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(reverse("admin:pets_pet_deleted"))
    messages.success(request, f"“{pet}” is in the catalogue again, as animal {pet.pk}.")
    return HttpResponseRedirect(
        reverse("admin:pets_pet_change", args=[pet.pk])
        if may_see_animals(request)
        else reverse("admin:pets_pet_deleted")
    )
