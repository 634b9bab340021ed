"""One click in the list of animals or on the page of one: a status, saved at once, that can be undone."""

import re

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_POST

from changes.admin.notices import report
from changes.bulk import bulk_plan, write
from changes.models import Kind, UnrecordedChange
from history.acting import acting
from history.conflicts import changes_since
from history.pages import sent_from
from pets.models import Pet, PetStatus

BECOMES = re.compile(f"({'|'.join(PetStatus.values)}):([0-9]{{1,18}})")
"""A status, and the latest change of the animal that its user has seen."""


@require_POST
@permission_required("pets.change_pet", raise_exception=True)
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
    return HttpResponseRedirect(sent_from(request, otherwise=reverse("admin:pets_pet_changelist")))


def _why_not(request: HttpRequest, number: int, seen: int) -> str:
    pet = Pet.objects.filter(pk=number).first()
    if pet is not None:
        changes = format_html_join(" ", "{}.", [(change,) for change in changes_since(pet, seen, request.user)])
        return format_html("“{}” was not changed. It was changed after you opened the page. {}", pet, changes)
    last = Pet.history.filter(id=number).order_by("-history_id").first()
    return format_html(
        '“{}” was deleted after you opened the page. Nothing changed. <a href="{}">Show it</a>',
        last.name if last else f"animal {number}",
        reverse("admin:pets_pet_change", args=[number]),
    )
