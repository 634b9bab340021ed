"""One click in the list of animals or on the page of one: a status, saved at once, that can be undone."""

import re

from django.contrib import messages
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_POST

from changes.admin.notices import report
from changes.bulk import bulk_plan, write
from changes.models import Kind, UnrecordedChange
from history.acting import acting
from history.admin import FILTERS
from history.conflicts import changes_since
from pets.models import Pet, PetStatus
from pets.permissions import change_permission_required

BECOMES = re.compile(f"({'|'.join(PetStatus.values)}):([0-9]{{1,18}})")
"""A status, and the latest change of the animal that its user has seen."""


@require_POST
@change_permission_required
def change(request: HttpRequest, number: int) -> HttpResponse:
    """Give the animal the status, unless it was changed since it was shown, and go back to where it was clicked."""
    wanted = BECOMES.fullmatch(request.POST.get("becomes", ""))
    if wanted is None:
        message = "A status that no form of ours sends"
        raise SuspiciousOperation(message)
    status, seen = wanted[1], int(wanted[2])
    with transaction.atomic():
        made = bulk_plan({number: seen}, "status", status, lock=True)
        by = UnrecordedChange(Kind.EDIT, acting().actor, "", timezone.now(), user_id=request.user.pk)
        write(made, by)
        row = Pet.history.filter(id=number).order_by("history_id").last()
    if made.changes:
        report(request, UnrecordedChange.of_row(row))
    elif made.left:
        messages.error(request, _why_not(request, number, seen))
    else:
        messages.info(request, f"Nothing changed. It is {status} already.")
    return HttpResponseRedirect(_back(request, number))


def _back(request: HttpRequest, number: int) -> str:
    """Return the address of the list as it was, or of the page of the animal if that has the button."""
    query = request.GET.urlencode()
    if "page" not in request.POST:
        return f"{reverse('admin:pets_pet_changelist')}?{query}"
    if Pet.objects.filter(pk=number).exists():
        return f"{reverse('admin:pets_pet_change', args=[number])}?{query}"
    return f"{reverse('admin:pets_pet_changelist')}?{QueryDict(request.GET.get(FILTERS, '')).urlencode()}"


def _why_not(request: HttpRequest, number: int, seen: int) -> str:
    opened = "page" if "page" in request.POST else "list"
    pet = Pet.objects.filter(pk=number).first()
    if pet is not None:
        changes = format_html_join(" ", "{}.", [(change,) for change in changes_since(pet, seen, request.user)])
        message = "“{}” was not changed. It was changed after you opened the {}. {}"
        return format_html(message, pet, opened, changes)
    last = Pet.history.filter(id=number).order_by("-history_id").first()
    return format_html(
        '“{}” was deleted after you opened the {}. Nothing changed. <a href="{}">Show it</a>',
        last.name if last else f"animal {number}",
        opened,
        reverse("admin:pets_pet_change", args=[number]),
    )
