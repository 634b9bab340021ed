"""Bulk changes in the back office: the actions of the list, the page that asks, the record, and undoing one."""

import re
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from categories.models import Category
from history.admin import RecordAdmin, moment, number
from history.conflicts import latest_change_of_each
from pets.admin.permissions import change_permission_required, may_see_animals
from pets.bulk import AT_MOST, Plan, Target, UndoRejectedError, check_undo, make, plan, plan_undo, undo
from pets.models import BulkChange, Pet, PetStatus

LISTED = 100
"""Animals that the page which asks names; the others it counts."""

NAMED = 10
"""Animals that a message names."""

PER_SECOND = 5_000
"""Animals that are changed in a second, so that the page which asks can say how long it takes."""

CATEGORY = "category"
NONE_LEFT = "Nothing changed. The selected animals are not in this list any more."
IN_PART = "Nothing changed: the form was incomplete. Select the animals again."


class SeenAnimalsField(forms.CharField):
    """The animals and the latest change of each, as one hidden text: "7:120,9:131"."""

    widget = forms.HiddenInput

    def clean(self, value: Any) -> dict[int, int]:
        """Return the animals by id, each with the number of its latest change."""
        text = super().clean(value)
        if not re.fullmatch(r"[0-9]{1,18}:[0-9]{1,18}(,[0-9]{1,18}:[0-9]{1,18})*", text):
            raise ValidationError(IN_PART)
        seen = {int(pet): int(change) for pet, _, change in (pair.partition(":") for pair in text.split(","))}
        if len(seen) > AT_MOST:
            raise ValidationError(too_many())
        return seen


class BulkForm(forms.Form):
    """Which animals become what."""

    animals = SeenAnimalsField()
    becomes = forms.ChoiceField(choices=[*PetStatus.choices, (CATEGORY, "Category")], widget=forms.HiddenInput)
    category = forms.ModelChoiceField(Category.objects.all(), required=False, label="Move to category")
    filters = forms.CharField(required=False, widget=forms.HiddenInput)
    """The query of the list that the animals were selected in, to go back to."""

    def target(self) -> Target | None:
        """Return what the animals become, or None while no category is chosen."""
        becomes, category = self.cleaned_data["becomes"], self.cleaned_data["category"]
        if becomes != CATEGORY:
            return Target("status", becomes, becomes)
        return category and Target("category_id", category.pk, category.name)


def too_many() -> str:
    """Return what is said of a selection that is too large."""
    return f"At most {AT_MOST:,} animals can be changed at once. Nothing changed. Filter or search for fewer."


def _action(becomes: str, description: str) -> Any:
    @admin.action(permissions=["change"], description=description)
    def ask(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        selected = queryset.order_by().annotate(latest=latest_change_of_each(Pet.history))
        pairs = list(selected.values_list("pk", "latest")[: AT_MOST + 1])
        if len(pairs) > AT_MOST:  # the first of the list, as the button that selected them says
            pairs = list(selected.order_by(*queryset.query.order_by).values_list("pk", "latest")[:AT_MOST])
        if not pairs:  # someone else deleted them, or changed what the list is filtered by
            model_admin.message_user(request, NONE_LEFT, messages.WARNING)
            return None
        animals = ",".join(f"{pet}:{change}" for pet, change in sorted(pairs))
        form = BulkForm({"animals": animals, "becomes": becomes, "filters": request.GET.urlencode()})
        form.full_clean()
        return _ask(request, form)

    ask.__name__ = f"become_{becomes}"
    return ask


ACTIONS = [
    *(_action(status.value, f"Mark {status.value}…") for status in PetStatus),
    _action(CATEGORY, "Move to category…"),
]


@admin.register(BulkChange)
class BulkChangeAdmin(RecordAdmin):
    """The record of bulk changes, for everyone who can see animals. The person who made one can undo it."""

    list_display = ["name", "what", "undone", number("changed"), "who", moment("made_at", "when")]
    fields = ["what", "who", moment("made_at", "when"), number("changed"), "undone", "left_as_they_are"]
    readonly_fields = fields  # type: ignore[assignment]  # the stubs allow columns in `fields` only
    show_full_result_count = False

    @admin.display(description="bulk change")
    def name(self, bulk: BulkChange) -> str:
        """Return the name, as the beginning of a row."""
        return str(bulk).capitalize()

    @admin.display(description="undone")
    def undone(self, bulk: BulkChange) -> str:
        """Return in words whether it was undone, perhaps in part: a red cross is read as a failure."""
        return "undone" if bulk.is_undone else "no"  # type: ignore[attr-defined]  # annotated below

    def get_queryset(self, request: HttpRequest) -> QuerySet[BulkChange]:
        """Note for each whether it was undone."""
        undone = BulkChange.objects.filter(undo_of=OuterRef("pk"))
        noted: QuerySet[BulkChange] = super().get_queryset(request).annotate(is_undone=Exists(undone))
        return noted

    @admin.display(description="left as they are")
    def left_as_they_are(self, bulk: BulkChange) -> str:
        """Return the animals that were left, and why."""
        return "\n".join(f"{name} ({number}): {reason}" for number, name, reason in bulk.left) or "none"

    def has_view_permission(self, request: Any, _obj: Any = None) -> bool:
        """Return whether the user may see animals: a bulk change shows nothing else."""
        return may_see_animals(request)

    def has_module_permission(self, request: Any) -> bool:
        """Return the same: it decides whether the record is among the tables of the first page."""
        return self.has_view_permission(request)

    def get_urls(self) -> list[URLPattern]:
        """Add the page that asks and the page that undoes."""
        view = self.admin_site.admin_view
        return [
            path("make/", view(self.make_view), name="pets_bulkchange_make"),
            path("<int:number>/undo/", view(self.undo_view), name="pets_bulkchange_undo"),
            *super().get_urls(),
        ]

    @method_decorator([require_POST, change_permission_required])
    def make_view(self, request: HttpRequest) -> HttpResponse:
        """Show what a change would do once its category is chosen, or make it and go back to the list."""
        form = BulkForm(request.POST)
        target = form.target() if form.is_valid() else None
        if target is None or "confirm" not in request.POST:
            if "animals" in form.errors or "becomes" in form.errors:
                said = form.errors.get("animals", [IN_PART])
                messages.error(request, " ".join(map(str, said)))
                return HttpResponseRedirect(reverse("admin:pets_pet_changelist"))
            return _ask(request, form)
        try:
            bulk = make(form.cleaned_data["animals"], target, user=request.user)  # type: ignore[arg-type]  # signed in
        except IntegrityError:
            messages.error(request, f"Nothing changed. The category “{target.word}” has just been deleted.")
        else:
            _report(request, bulk, f"{_animals_were(bulk.changed)} changed: {target}.", undo_link=True)
        return HttpResponseRedirect(f"{reverse('admin:pets_pet_changelist')}?{form.cleaned_data['filters']}")

    @method_decorator([require_http_methods(["GET", "HEAD", "POST"]), change_permission_required])
    def undo_view(self, request: Any, number: int) -> HttpResponse:
        """Show what undoing would do, or undo."""
        bulk = BulkChange.objects.filter(pk=number).first()
        if bulk is None:
            raise Http404
        try:
            if request.method == "POST":
                undone = undo(bulk, user=request.user)
                _report(request, undone, f"{_animals_were(undone.changed)} given the former value again.")
                return HttpResponseRedirect(_back(request))
            check_undo(bulk, user=request.user)
        except UndoRejectedError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse("admin:pets_bulkchange_changelist"))
        return _page(request, "undo.html", title=f"Undo {bulk}", bulk=bulk, **_shown(plan_undo(bulk)))


def _back(request: HttpRequest) -> str:
    """Return the address of the page whose message or feed has the button, or of the list of animals."""
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith(reverse("admin:index"))
    return back if is_ours else reverse("admin:pets_pet_changelist")


def _animals(count: int) -> str:
    return f"{count:,} animal{'' if count == 1 else 's'}"


def _animals_were(count: int) -> str:
    return f"{_animals(count)} {'was' if count == 1 else 'were'}"


def _ask(request: HttpRequest, form: BulkForm) -> HttpResponse:
    shown = _preview(form)
    return _page(request, "ask.html", title=_question(shown), form=form, **shown)


def _question(shown: dict[str, Any]) -> str:
    if "plan" not in shown:
        return "Move to category"
    animals, target = _animals(shown["plan"].count), shown["target"]
    return f"Mark {animals} {target.word}?" if target.column == "status" else f"Move {animals} to {target.word}?"


def _preview(form: BulkForm) -> dict[str, Any]:
    """Return what the page that asks shows: nothing but the choice of a category until one is chosen."""
    asks_category = form["becomes"].value() == CATEGORY
    target = form.target() if form.is_valid() else None
    if target is None:
        return {"asks_category": asks_category, "selected": len(form.cleaned_data["animals"])}
    shown = _shown(plan(form.cleaned_data["animals"], target))
    return {"asks_category": asks_category, "target": target, **shown}


def _shown(made: Plan) -> dict[str, Any]:
    """Return the counts of each change from one value to another, the first animals by name, and those left."""
    categories: dict[Any, str] = (
        dict(Category.objects.values_list("pk", "name")) if made.column == "category_id" else {}
    )
    counts: dict[tuple[Any, Any], int] = {}
    named: list[tuple[Pet, Any, Any]] = []
    for value, pets in made.changes.items():
        for pet in pets:
            former = getattr(pet, made.column)
            change = categories.get(former, former), categories.get(value, str(value))
            counts[change] = counts.get(change, 0) + 1
            if len(named) < LISTED:
                named.append((pet, *change))
    return {
        "plan": made,
        "counts": [(before, after, count) for (before, after), count in counts.items()],
        "named": named,
        "unnamed": made.count - len(named),
        "left": made.left[:LISTED],
        "more_left": len(made.left) - LISTED,
        "seconds": -(-made.count // PER_SECOND),
    }


def _report(request: HttpRequest, bulk: BulkChange, done: str, *, undo_link: bool = False) -> None:
    """Say what was done, with a link that undoes it, and what was left."""
    if undo_link and bulk.changed:
        address = reverse("admin:pets_bulkchange_undo", args=[bulk.pk])
        messages.success(request, format_html('{} <a href="{}">Undo</a>', done, address))
    else:
        messages.success(request, done)
    if bulk.left:
        first = ", ".join(f"{name} ({number}): {reason}" for number, name, reason in bulk.left[:NAMED])
        said = f"{_animals_were(len(bulk.left))} left as before: {first}."
        address = reverse("admin:pets_bulkchange_change", args=[bulk.pk]) if bulk.pk else ""
        messages.warning(request, format_html('{} <a href="{}">All of them</a>', said, address) if address else said)


def _page(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    shared = admin.site.each_context(request) | {"opts": Pet._meta}  # noqa: SLF001 - Django's documented name
    return TemplateResponse(request, f"admin/pets/bulkchange/{template}", shared | context)
