"""Bulk changes in the back office: the actions of the list, the page that asks, the record, and undoing one."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from categories.models import Category
from changes.acting import acting
from changes.admin import RecordAdmin, actor, moment, number
from changes.models import State
from changes.naming import who
from pets import working
from pets.admin.permissions import change_permission_required, may_see_animals
from pets.admin.selecting import selected, selection_of
from pets.blocks import AT_MOST, BLOCK, advance, begin, begin_undo, first_block, progress, stop
from pets.bulk import Plan, Target, UndoRejectedError, check_undo, plan, plan_undo
from pets.models import BulkChange, Pet, PetStatus, Selection

LISTED = 100
"""Animals that the page which asks names; the others it counts."""

NAMED = 10
"""Animals that a message names."""

PER_SECOND = 5_000
"""Animals that are changed in a second, so that the page which asks can say how long it takes."""

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
        return HttpResponseRedirect(reverse("admin:pets_bulkchange_make", args=[selection.pk, becomes]))

    ask.__name__ = f"become_{becomes}"
    return ask


ACTIONS = [
    *(_action(status.value, f"Mark {status.value}…") for status in PetStatus),
    _action(CATEGORY, "Move to category…"),
]


@admin.register(BulkChange)
class BulkChangeAdmin(RecordAdmin):
    """The record of bulk changes, for everyone who can see animals. The person who made one can undo it."""

    list_display = ["what"]  # the template has the columns
    sortable_by = ()
    fields = [
        "what",
        actor("who"),
        moment("made_at", "when"),
        "how",
        number("changed"),
        "not_reached",
        "left_as_they_are",
    ]
    readonly_fields = fields  # type: ignore[assignment]  # the stubs allow columns in `fields` only
    show_full_result_count = False

    @admin.display(description="state")
    def how(self, bulk: BulkChange) -> str:
        """Return how far it came, or that it was undone, perhaps in part."""
        if bulk.is_undone:
            return "Undone"
        return bulk.outcome.removesuffix(".") or str(State(bulk.state).label)

    @admin.display(description="not reached")
    def not_reached(self, bulk: BulkChange) -> str:
        """Return how many animals it was stopped before."""
        return f"{bulk.unreached:,}"

    @admin.display(description="left as they are")
    def left_as_they_are(self, bulk: BulkChange) -> str:
        """Return the animals that were left, and why."""
        lines = [f"{name} ({number}): {reason}" for number, name, reason in bulk.left]
        more = bulk.left_count - len(bulk.left)
        return "\n".join([*lines, f"and {more:,} more"] if more > 0 else lines) or "none"

    def has_view_permission(self, request: Any, _obj: Any = None) -> bool:
        """Return whether the user may see animals: a bulk change shows nothing else."""
        return may_see_animals(request)

    def has_module_permission(self, request: Any) -> bool:
        """Return the same: it decides whether the record is among the tables of the first page."""
        return self.has_view_permission(request)

    def get_urls(self) -> list[URLPattern]:
        """Add the page that asks, the page that undoes, and what is done with one that runs."""
        view = self.admin_site.admin_view
        return [
            path("make/<int:selection_id>/<slug:becomes>/", view(self.make_view), name="pets_bulkchange_make"),
            path("<int:number>/undo/", view(self.undo_view), name="pets_bulkchange_undo"),
            path("<int:number>/stop/", view(self.stop_view), name="pets_bulkchange_stop"),
            path("<int:number>/continue/", view(self.continue_view), name="pets_bulkchange_continue"),
            *super().get_urls(),
        ]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Show the record, and how far it came while it runs."""
        bulk = context["original"]
        if bulk.state == State.RUNNING:
            may_change = request.user.has_perm("pets.change_pet")
            may = {"may_stop": may_change, "may_continue": may_change and bulk.user_id == request.user.pk}
            context |= {"progress": progress(bulk)} | may
        return super().render_change_form(request, context, *args, **kwargs)

    @method_decorator([require_http_methods(["GET", "HEAD", "POST"]), change_permission_required])
    def make_view(self, request: HttpRequest, selection_id: int, becomes: str) -> HttpResponse:
        """Show what the change would do, or make it and go back to the list."""
        if becomes not in {*PetStatus.values, CATEGORY}:
            raise Http404
        selection = selection_of(request, selection_id)
        if selection is None:
            return HttpResponseRedirect(_list())
        if selection.change_id is not None:
            messages.info(request, USED)
            return HttpResponseRedirect(_record(selection.change_id))
        given = request.POST if request.method == "POST" else request.GET
        form = CategoryForm(given if CATEGORY in given else None)
        target = _target(becomes, form)
        if request.method != "POST" or target is None:
            return _ask(request, selection, becomes, form, target)
        bulk = begin(selection, target)
        return _made(request, bulk, f"changed: {target}.", f"{_list()}?{selection.filters}")

    @method_decorator([require_http_methods(["GET", "HEAD", "POST"]), change_permission_required])
    def undo_view(self, request: Any, number: int) -> HttpResponse:
        """Show what undoing would do, or undo."""
        bulk = _bulk_change(number)
        try:
            if request.method == "POST":
                undone = begin_undo(bulk, user=request.user)
                return _made(request, undone, "given the former value again.", _back(request))
            check_undo(bulk, user=request.user)
        except UndoRejectedError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse("admin:pets_bulkchange_changelist"))
        rows = Pet.history.filter(change=bulk).order_by("history_id").values_list("history_id", flat=True)
        shown = _shown(plan_undo(bulk, list(rows[:BLOCK])))
        if bulk.changed > BLOCK:  # what the others have now is found when they are undone
            shown |= {"counts": [], "count": bulk.changed, "unnamed": bulk.changed - len(shown["named"])}
        return _page(request, "undo.html", title=f"Undo {bulk}", bulk=bulk, **shown | _time(shown["count"]))

    @method_decorator([require_POST, change_permission_required])
    def stop_view(self, _request: HttpRequest, number: int) -> HttpResponse:
        """Stop one that runs, also someone else's."""
        stop(_bulk_change(number).pk, f"Stopped by {who(acting().actor)}.")
        return HttpResponseRedirect(_record(number))

    @method_decorator([require_POST, change_permission_required])
    def continue_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Go on with one of yours that was interrupted."""
        bulk = _bulk_change(number)
        if bulk.user_id != request.user.pk:
            messages.error(request, f"Only {who(bulk.who)} can continue this. You can stop it.")
        elif bulk.state == State.RUNNING and progress(bulk).is_interrupted:
            working.work(bulk.pk, advance)
        return HttpResponseRedirect(_record(number))


def _list() -> str:
    return reverse("admin:pets_pet_changelist")


def _record(number: int) -> str:
    return reverse("admin:pets_bulkchange_change", args=[number])


def _bulk_change(number: int) -> BulkChange:
    bulk = BulkChange.objects.filter(pk=number).first()
    if bulk is None:
        raise Http404
    return bulk


def _target(becomes: str, form: CategoryForm) -> Target | None:
    """Return what the animals become, or None while no category is chosen."""
    if becomes != CATEGORY:
        return Target("status", becomes, becomes)
    if not form.is_valid():
        return None
    category = form.cleaned_data["category"]
    return Target("category_id", category.pk, category.name)


def _back(request: HttpRequest) -> str:
    """Return the address of the page whose message or feed has the button, or of the list of animals."""
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith(reverse("admin:index"))
    return back if is_ours else _list()


def _animals(count: int) -> str:
    return f"{count:,} animal{'' if count == 1 else 's'}"


def _animals_were(count: int) -> str:
    return f"{_animals(count)} {'was' if count == 1 else 'were'}"


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
    question = f"Mark {_animals(shown['count'])} {target.word}?"
    if target.column == "category_id":
        question = f"Move {_animals(shown['count'])} to {target.word}?"
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


def _made(request: HttpRequest, bulk: BulkChange, done: str, back: str) -> HttpResponse:
    """Do what was confirmed, and say what was done; what takes longer goes on while its page shows how far it came."""
    ended = working.work(bulk.pk, advance)
    bulk.refresh_from_db()
    if not ended:
        return HttpResponseRedirect(_record(bulk.pk))
    _report(request, bulk, done)
    if not bulk.changed and not bulk.left_count and not bulk.outcome:
        bulk.delete()
    return HttpResponseRedirect(back)


def _report(request: HttpRequest, bulk: BulkChange, done: str) -> None:
    """Say what was done, with a link that undoes it, and what was left."""
    said = f"{_animals_were(bulk.changed)} {done}"
    if bulk.undo_of and not bulk.changed and not bulk.left_count:
        messages.error(request, f"Nothing changed. {str(bulk.undo_of).capitalize()} is already undone.")
    elif bulk.outcome:
        messages.error(request, f"{bulk.outcome} {_animals_were(bulk.changed)} changed.")
    elif bulk.changed:
        address = reverse("admin:pets_bulkchange_undo", args=[bulk.pk])
        messages.success(request, format_html('{} <a href="{}">Undo</a>', said, address))
    elif not bulk.left_count:
        messages.info(request, "Nothing changed. The animals have this value already.")
    if bulk.left_count:
        first = ", ".join(f"{name} ({number}): {reason}" for number, name, reason in bulk.left[:NAMED])
        left = f"{_animals_were(bulk.left_count)} left as before: {first}."
        messages.warning(request, format_html('{} <a href="{}">All of them</a>', left, _record(bulk.pk)))


def _page(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    shared = admin.site.each_context(request) | {"opts": Pet._meta}  # noqa: SLF001 - Django's documented name
    return TemplateResponse(request, f"admin/pets/bulkchange/{template}", shared | context)
