"""Bulk changes in the back office: the actions of the list, and the page that asks."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from categories.models import Category
from changes.models import Change
from pets import working
from pets.admin.activity import PER_SECOND, address, report
from pets.admin.permissions import change_permission_required
from pets.admin.selecting import selected, selection_of
from pets.admin.telling import animals
from pets.blocks import AT_MOST, advance, begin, first_block
from pets.bulk import Plan, Target, plan
from pets.models import Pet, PetStatus, Selection

LISTED = 100
"""Animals that the page which asks names; the others it counts."""

CATEGORY = "category"
USED = "You have confirmed this already. To change the animals again, select them again."


class CategoryForm(forms.Form):
    """Where the selected animals are moved."""

    category = forms.ModelChoiceField(
        Category.objects.all(), label="Move to category", empty_label="Choose a category", label_suffix=""
    )


def _action(becomes: str, description: str) -> Any:
    @admin.action(permissions=["change"], description=description)
    def ask(_model_admin: admin.ModelAdmin, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        selection = selected(request, queryset, "changed", AT_MOST)
        if selection is None:
            return None
        return HttpResponseRedirect(reverse("admin:pets_pet_become", args=[selection.pk, becomes]))

    ask.__name__ = f"become_{becomes}"
    return ask


ACTIONS = [
    *(_action(status.value, f"Mark {status.value}…") for status in PetStatus),
    _action(CATEGORY, "Move to category…"),
]


@require_http_methods(["GET", "HEAD", "POST"])
@change_permission_required
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
    given = request.POST if request.method == "POST" else request.GET
    form = CategoryForm(given if CATEGORY in given else None)
    target = _target(becomes, form)
    if request.method != "POST" or target is None:
        return _ask(request, selection, becomes, form, target)
    return _make(request, begin(selection, target), f"{_list()}?{selection.filters}")


def _list() -> str:
    return reverse("admin:pets_pet_changelist")


def _target(becomes: str, form: CategoryForm) -> Target | None:
    """Return what the animals become, or None while no category is chosen."""
    if becomes != CATEGORY:
        return Target("status", becomes, becomes)
    if not form.is_valid():
        return None
    category = form.cleaned_data["category"]
    return Target("category_id", category.pk, category.name)


def _ask(
    request: HttpRequest, selection: Selection, becomes: str, form: CategoryForm, target: Target | None
) -> HttpResponse:
    shared = {"selection": selection, "asks_category": becomes == CATEGORY, "form": form, "target": target}
    if target is None:
        return _page(request, "ask.html", title="Move to category", **shared)
    seen = first_block(selection)
    shown = _shown(plan(seen, target.column, target.value))
    if selection.animals > len(seen):
        shown |= _counted(selection, target, len(shown["named"]))
    question = f"Mark {animals(shown['count'])} {target.word}?"
    if target.column == "category_id":
        question = f"Move {animals(shown['count'])} to {target.word}?"
    return _page(request, "ask.html", title=question, **shared | shown | _time(shown["count"]))


def _counted(selection: Selection, target: Target, named: int) -> dict[str, Any]:
    """Return the counts of a selection of several blocks, as they were when it was made."""
    of: dict[str | int, int] = {}
    for status, category, count in selection.counts:
        value = status if target.column == "status" else category
        of[value] = of.get(value, 0) + count
    already = of.pop(target.value, 0)
    categories = Category.objects.in_bulk()
    counts = [(_word(target.column, value, categories), target.word, count) for value, count in of.items()]
    changed = sum(of.values())
    return {"counts": counts, "already": already, "count": changed, "unnamed": changed - named}


def _shown(made: Plan) -> dict[str, Any]:
    """Return the counts of each change from one value to another, the first animals by name, and those left."""
    categories = Category.objects.in_bulk()
    counts: dict[tuple[Any, Any], int] = {}
    named: list[tuple[Pet, Any, Any]] = []
    for value, pets in made.changes.items():
        for pet in pets:
            former = getattr(pet, made.column)
            change = _word(made.column, former, categories), _word(made.column, value, categories)
            counts[change] = counts.get(change, 0) + 1
            if len(named) < LISTED:
                pet.category = categories[pet.category_id]
                named.append((pet, *change))
    return {
        "column": made.column,
        "count": made.count,
        "already": len(made.already),
        "counts": [(before, after, count) for (before, after), count in counts.items()],
        "named": named,
        "unnamed": made.count - len(named),
        "left": made.left[:LISTED],
        "left_count": len(made.left),
        "more_left": len(made.left) - LISTED,
    }


def _word(column: str, value: Any, categories: dict[int, Category]) -> str:
    return str(value if column == "status" else categories.get(value, "a deleted category"))


def _time(count: int) -> dict[str, int]:
    return {"seconds": -(-count // PER_SECOND)}


def _make(request: HttpRequest, bulk: Change, back: str) -> HttpResponse:
    """Do what was confirmed, and say what was done; what takes longer goes on while its page shows how far it came."""
    ended = working.work(bulk.pk, advance)
    bulk.refresh_from_db()
    if not ended:
        return HttpResponseRedirect(address(bulk))
    report(request, bulk)
    if not bulk.changed and not bulk.left_count and not bulk.outcome:
        messages.info(request, "Nothing changed. The animals have this value already.")
        bulk.delete()
    return HttpResponseRedirect(back)


def _page(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    shared = admin.site.each_context(request) | {"opts": Pet._meta}  # noqa: SLF001 - Django's documented name
    return TemplateResponse(request, f"admin/pets/bulkchange/{template}", shared | context)
