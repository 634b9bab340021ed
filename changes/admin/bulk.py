"""What is done with selected animals: the actions of the list, and the pages that ask before a change or a deletion."""

from collections import Counter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from categories.models import Category
from changes.admin.change import PER_SECOND, keep_comment
from changes.admin.notices import address, carry_out, report
from changes.bulk import AT_MOST, SelectionTooLargeError, Target, begin, bulk_plan, delete, first_block, select
from changes.models import Change, Selection, State
from changes.words import animals
from pets.models import Pet, PetStatus

LISTED = 100
"""Animals that the page which asks names; the others it counts."""

MOST = {"change": AT_MOST, "delete": 500}
"""Animals that can be selected for it; the page that asks before a deletion names each of them."""

CATEGORY = "category"
NONE_LEFT = "Nothing changed. The selected animals are not in this list any more."
GONE = "Nothing changed. This selection was too old. Select the animals again."
TOO_MANY = "At most {most:,} animals can be {done} at once. Nothing changed. Filter or search for fewer."
NOTHING = "Nothing was deleted. The selected animals were changed or deleted since."
SAME = "Nothing changed. The animals have this value already."
USED = "You have confirmed this already. To change the animals again, select them again."


class MoveForm(forms.Form):
    """Where the selected animals are moved."""

    category = forms.ModelChoiceField(
        Category.objects.all(), label="Move to category", empty_label="Choose a category", label_suffix=""
    )


def action(name: str, description: str, page: str, *arguments: str, permission: str) -> Any:
    """Return an action of the list: it keeps the animals that were selected, and goes to the page that asks."""

    @admin.action(permissions=[permission], description=description)
    def ask(_model_admin: admin.ModelAdmin, request: HttpRequest, animals: Any) -> HttpResponse | None:
        try:
            selection = select(animals, user=request.user, filters=request.GET.urlencode(), most=MOST[permission])  # type: ignore[arg-type]  # signed in
        except SelectionTooLargeError:
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


ACTIONS = [
    action(f"become_{becomes}", description, "pets_pet_become", becomes, permission="change")
    for becomes, description in (
        *((status, f"Mark {status}…") for status in PetStatus.values),
        (CATEGORY, "Move to category…"),
    )
]
ACTIONS.append(action("delete_selected", "Delete selected animals…", "pets_pet_delete_selected", permission="delete"))


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("pets.change_pet", raise_exception=True)
def make(request: HttpRequest, selection_id: int, becomes: str) -> HttpResponse:
    """Show what the change would do, or make it and go back to the list."""
    if becomes not in {*PetStatus.values, CATEGORY}:
        raise Http404
    selection = selection_of(request, selection_id)
    if selection is None:
        return HttpResponseRedirect(_list())
    if selection.change is not None:
        messages.info(request, USED)
        return HttpResponseRedirect(address(selection.change))
    query = request.POST if request.method == "POST" else request.GET
    form = MoveForm(query if CATEGORY in query else None)
    target = _target(becomes, form)
    if request.method == "POST" and target is not None:
        keep_comment(request)
        try:
            bulk = begin(selection, target)
            response = carry_out(request, bulk, f"{_list()}?{selection.filters}")
        except (Selection.DoesNotExist, Change.DoesNotExist):  # sent twice: the other one changed nothing, and is gone
            messages.info(request, SAME)
            return HttpResponseRedirect(_list())
        if bulk.state == State.DONE and not bulk.changed and not bulk.left_count:
            messages.info(request, SAME)
            bulk.delete()
        return response
    context = {"title": "Move to category", "selection": selection, "form": form, "target": target}
    context |= {"asks_category": becomes == CATEGORY, "opts": Pet._meta}  # noqa: SLF001 - Django's documented name
    context |= admin.site.each_context(request) | (_preview(selection, target) if target else {})
    return TemplateResponse(request, "admin/pets/bulkchange/ask.html", context)


def _list() -> str:
    return reverse("admin:pets_pet_changelist")


def _target(becomes: str, form: MoveForm) -> Target | None:
    """Return what the animals become, or None while no category is chosen."""
    if becomes != CATEGORY:
        return Target("status", becomes, becomes)
    if not form.is_valid():
        return None
    category = form.cleaned_data["category"]
    return Target("category_id", category.pk, category.name)


def _preview(selection: Selection, target: Target) -> dict[str, Any]:
    """Return how many become so, from what, the first animals by name, and those that are left.

    Of a selection of several blocks, the counts are as they were when it was made.
    """
    seen, categories = first_block(selection), Category.objects.in_bulk()
    made = bulk_plan(seen, target.column, target.value)
    of = Counter(getattr(pet, target.column) for pet in made.changes)
    already, named = made.already, made.changes[:LISTED]
    if selection.animals > len(seen):
        of = Counter()
        for status, category, count in selection.counts:
            of[status if target.column == "status" else category] += count
        already = of.pop(target.value, 0)
    for pet in named:
        pet.category = categories[pet.category_id]

    def word(value: Any) -> str:
        return str(value if target.column == "status" else categories.get(value, "a deleted category"))

    count = of.total()
    question = "Mark {} {}?" if target.column == "status" else "Move {} to {}?"
    return {
        "title": question.format(animals(count), target.word),
        "column": target.column,
        "count": count,
        "already": already,
        "counts": [(word(value), target.word, each) for value, each in of.items()],
        "named": [(pet, word(getattr(pet, target.column)), target.word) for pet in named],
        "unnamed": count - len(named),
        "left": made.left,
        "left_count": len(made.left),
        "seconds": -(-count // PER_SECOND),
    }


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("pets.delete_pet", raise_exception=True)
def delete_selected(request: Any, selection_id: int) -> HttpResponse:
    """Ask, naming each animal, or delete them. Those that someone changed since they were selected are left."""
    selection = selection_of(request, selection_id)
    back = f"{_list()}?{selection.filters if selection else ''}"
    seen = first_block(selection) if selection else {}
    same = bulk_plan(seen, "status", "").changes
    if request.method == "POST" and same:
        keep_comment(request)
        done = delete(seen, user=request.user)
        if done is not None:
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
