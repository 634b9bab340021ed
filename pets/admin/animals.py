"""Animals in the back office: the list, one animal, and its history."""

from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_GET

from categories.models import Category
from changes import words
from changes.admin import bulk, change, status
from files.downloads import download
from files.export import HEADINGS, IMPORTED, FileFormat
from history.naming import name_actors
from history.pages import ChangesAdmin
from history.paging import HistoryPage
from history.times import spans
from history.values import row_number
from pets.admin import listing, views
from pets.admin.filters import FormFilter
from pets.columns import CATEGORY, ON_PAGES
from pets.models import Pet, PetStatus
from pets.serializers import PetSerializer


@admin.register(Pet)
class PetAdmin(ChangesAdmin):
    """Find, add, change, delete and restore; many at once by the actions of `bulk`."""

    list_filter = [FormFilter]
    linked_by: ClassVar[set[str]] = {"created_at"}
    list_per_page = 50
    search_fields = ["name"]  # says that there is a search; `get_search_results` is it
    search_help_text = (
        "A part of the name or of the external reference, or the ID. Upper case and accents don't matter."
    )
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ["-id"]
    undoable: ClassVar = [column.header for column in ON_PAGES]
    fields = [*undoable[:2], tuple(undoable[2:])]
    radio_fields: ClassVar = {"status": admin.HORIZONTAL}
    states: ClassVar = [column.header for column in ON_PAGES if column.is_badge]
    actions = bulk.ACTIONS

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Return the categories as a select, which a script makes searchable if there are many."""
        select = {"widget": forms.Select({"data-searchable": ""}), "empty_label": "Choose a category"}
        return super().formfield_for_foreignkey(db_field, request, **(select | options))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("export/csv/", view(self.export_view), {"file_format": FileFormat.CSV}, name="pets_pet_export_csv"),
            path("export/xlsx/", view(self.export_view), {"file_format": FileFormat.XLSX}, name="pets_pet_export_xlsx"),
            path("<int:number>/status/", view(status.change), name="pets_pet_status"),
            path("views/", view(views.save), name="pets_pet_views"),
            path("views/<int:number>/delete/", view(views.delete), name="pets_pet_view_delete"),
            path("selected/<int:selection_id>/delete/", view(bulk.delete_selected), name="pets_pet_delete_selected"),
            path("selected/<int:selection_id>/<slug:becomes>/", view(bulk.make), name="pets_pet_become"),
            *(page for page in super().get_urls() if page.name != "pets_pet_undo_edit"),  # Activity undoes
        ]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [("Details", {"fields": self.get_fields(request, obj)})]

    def get_changelist(self, request: HttpRequest, **_kwargs: Any) -> type[listing.PetChangeList]:  # noqa: ARG002 - Django's signature
        """Return the list that does not count."""
        return listing.PetChangeList

    def get_search_results(self, _request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        needle = search_term.strip()
        return (listing.matching(queryset, needle) if needle else queryset), False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {
            "headings": [(name, heading.title, name in IMPORTED) for name, heading in HEADINGS.items()],
            "presets": spans(timezone.now().date()),
            "saved_views": partial(views.views_of, request),
        }
        return super().changelist_view(request, context | (extra_context or {}))

    @method_decorator(require_GET)
    def export_view(self, request: HttpRequest, file_format: FileFormat) -> HttpResponseBase:
        """Return what the list with the same query shows, all pages of it, as a file with each `column` of the query.

        Without any, it has those of a file that can be imported again.
        """
        if not request.user.has_perm("pets.export_pet"):
            raise PermissionDenied
        query: Any = request.GET.copy()
        chosen = query.pop("column", IMPORTED)
        request.GET = query
        reason = ""
        try:
            animals = self.get_changelist_instance(request).get_queryset(request)
            if not animals.query.is_empty():
                return download(animals, file_format, chosen)
        except (ValueError, IncorrectLookupParameters) as error:
            reason = str(error)
        self.message_user(request, reason or "The list has no such filter.", messages.ERROR)
        return HttpResponseRedirect(reverse("admin:pets_pet_changelist", query=request.GET))

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the form or save it; if the animal is gone, show what was typed and where the animal is."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Pet.DoesNotExist:  # deleted while its form was checked
            return self._was_deleted(request, _last_of(object_id or ""))

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Show the form, and beside that of an animal its facts and its story.

        A form with errors has what was typed in its animal, so what is shown beside it is read again.
        """
        if context["original"] is not None:
            newest = words.history_of(context["original"])  # first: a click changes nothing that is not shown
            pet = Pet.objects.select_related("category").get(pk=context["original"].pk)
            origin = words.first_of(pet, newest)
            happened = words.events(newest)[: words.SHOWN]
            name_actors([*newest[:1], origin, *happened], request.user)
            context |= {
                "animal": pet,
                "newest": newest[0] if newest else None,
                "origin": origin,
                "happened": happened,
                "statuses": PetStatus.choices,
                "shown": PetSerializer(pet).data,
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def undoing_of(self, row: Any) -> str:
        """Return the address that undoes an edit, an addition or a deletion."""
        return reverse("admin:activity_undo", args=[f"r{row.pk}"])

    def said_of_deletion(self, request: HttpRequest, name: str, number: Any) -> tuple[str, str]:
        """Return what is said of a deleted animal, with a button that restores it."""
        message = format_html("“{}” was deleted. The API responds with 404 for it.", name)
        row = Pet.history.filter(id=number).latest("history_id")
        return message, f"undo {self.undoing_of(row)}" if request.user.has_perm("pets.restore_pet") else ""

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> Any:
        """Return the page of a deleted animal instead of a redirect: Django calls this for all who can see it."""
        last = _last_of(object_id)
        if last is not None and self.has_view_permission(request):
            return self._was_deleted(request, last)
        return super()._get_obj_does_not_exist_redirect(request, opts, object_id)

    def _was_deleted(self, request: HttpRequest, last: Any) -> HttpResponse:
        """Say who deleted it and when, and offer to restore it, or to add what was typed in its form as a new one."""
        pet = Pet(pk=last.id, name=last.name)
        happened = words.events(words.history_of(pet))[: words.SHOWN]
        name_actors(happened, request.user)
        match: Any = request.resolver_match
        is_saved = request.method == "POST" and match.url_name == "pets_pet_change"
        typed = {name: request.POST.get(name, "") for name in flatten_fieldsets(self.get_fieldsets(request))}
        context = {
            "title": f"{last.name}, deleted",
            "last": last,
            "values": [words.value_change(column, None, last) for column in ON_PAGES],
            "animal": pet,
            "happened": happened,
            "undo": reverse("admin:activity_undo", args=[last.change_id or f"r{last.pk}"]),
            "categories": Category.objects.all(),
            "typed": [(each.title, typed[each.header]) for each in ON_PAGES if each is not CATEGORY],
            "add": reverse("admin:pets_pet_add", query=typed) if is_saved else "",
        }
        page = self.page(request, "was_deleted.html", **context)
        page.status_code = 404 if is_saved else 200
        return page

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        animals = [*Pet.objects.filter(pk=row_number(object_id) or 0).select_related("category")]
        back = reverse("admin:pets_pet_change", args=[object_id])
        context = {"title": f"Delete “{animals[0]}”?" if animals else "", "animals": animals, "back": back}
        return super().delete_view(request, object_id, context | (extra_context or {}))

    def history_context(self, request: HttpRequest, page: HistoryPage) -> dict[str, Any]:
        happened = words.events(page.changes, page.former)
        parts = change.parts_of(page.changes, request.user)
        for event, part in zip(happened, parts, strict=True):
            event.change = part
        return {"happened": happened}

    def get_history_queryset(self, *args: Any) -> Any:
        """Return the rows of history with the changes that they are a part of."""
        rows = super().get_history_queryset(*args).select_related("change__imported")
        return rows.defer("change__imported__rejects", "change__left")


def _last_of(number: str) -> Any:
    """Return the last row of history of the animal with that ID, if it was deleted; else None."""
    if row_number(number) is None or Pet.objects.filter(pk=number).exists():
        return None
    return Pet.history.filter(id=number).select_related("category").order_by("-history_id").first()
