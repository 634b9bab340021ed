"""Imports in the back office: their record, and small files from the first look to the last word."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from categories.models import Category
from changes.acting import acting
from changes.admin import RecordAdmin, actor, moment, number
from changes.times import NOTHING
from pets.admin.columns import ColumnsForm, ReadingForm
from pets.admin.downloads import CONTENT_TYPES, template
from pets.admin.permissions import may_see_animals
from pets.admin.upload_form import UploadForm
from pets.exporting import FileFormat
from pets.importing import large
from pets.importing.errors import BusyError, ImportRejectedError
from pets.importing.lock import check_connection, mark_killed
from pets.importing.options import Sender
from pets.importing.progress import Progress
from pets.importing.report import seconds
from pets.importing.source import STANDARD_INPUT
from pets.importing.undo import Undone, undo_import, undoable
from pets.importing.uploads import (
    MOST_ROWS,
    accept_near,
    choose,
    confirm,
    is_large,
    keep,
    match_of,
    preview,
    understand,
)
from pets.models import IMPORTED, STANDING, ColumnProfile, ImportRun, ImportState, ImportUpload

OPTIONS = {
    "dry_run": "dry run",
    "again": "again, although it was imported before",
    "accept_references": "references accepted as they are",
    "create_categories": "missing categories added",
    "skip_errors": "rows with errors left out",
    "formula_safe": "a ' before cells dropped",
}


BADGES = dict.fromkeys(ImportState.values, "failed") | {
    ImportState.DONE: "done",
    ImportState.DRY_RUN: "same",
    ImportState.UNDONE: "same",
    ImportState.RUNNING: "pending",
    ImportState.PARTLY_UNDONE: "pending",
}
"""The colour of each state."""


class TroubleFilter(admin.SimpleListFilter):
    """The imports of the last week that someone should look at."""

    title = "errors"
    parameter_name = "trouble"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        """Return the one choice."""
        return [("week", "In the last 7 days")]

    def queryset(self, _request: HttpRequest, queryset: Any) -> Any:
        """Return the imports with errors, if they are asked for."""
        chosen = self.value() == "week"
        return queryset.troubled_since(timezone.now().date() - timedelta(days=7)) if chosen else queryset


@admin.register(ImportRun)
class ImportRunAdmin(RecordAdmin):
    """With permission to add imports, you can send a small file, see what it would do, import it, and undo that."""

    list_display = [
        *("id", "file_name", "how", "added", "changed"),
        *(number("unchanged"), number("rejected"), actor("who"), moment("started_at")),
    ]
    list_display_links = ["id", "file_name"]
    list_filter = ["state", TroubleFilter, "started_at"]
    search_fields = ["file_name__matches", "=sha256"]
    change_form_template = "admin/pets/importrun/record.html"
    fields = ["file_name"]  # the template has the rest

    def has_add_permission(self, request: Any) -> bool:
        """Return whether the user may import files."""
        return bool(request.user.has_perm("pets.add_importrun"))

    def get_urls(self) -> list[URLPattern]:
        """Add the steps of an import to the admin's own pages."""
        view = self.admin_site.admin_view
        return [
            path("add/<int:upload_id>/columns/", view(self.columns_view), name="pets_importrun_columns"),
            path("add/forget/<int:profile_id>/", view(self.forget_view), name="pets_importrun_forget"),
            path("add/<int:upload_id>/preview/", view(self.preview_view), name="pets_importrun_preview"),
            path("add/<int:upload_id>/", view(self.work_view), name="pets_importrun_work"),
            path("add/<int:upload_id>/stop/", view(self.stop_view), name="pets_importrun_stop"),
            path("add/<int:upload_id>/confirm/", view(self.confirm_view), name="pets_importrun_confirm"),
            path("add/<int:upload_id>/rejects/", view(self.rejects_view), name="pets_importrun_rejects"),
            path("<int:run_id>/undo/", view(self.undo_view), name="pets_importrun_undo"),
            *super().get_urls(),
        ]

    @admin.display(description="state", ordering="state")
    def how(self, run: ImportRun) -> str:
        """Return its state, as a badge."""
        return format_html('<span class="badge badge-{}">{}</span>', BADGES[run.state], run.get_state_display())

    @admin.display(description="added", ordering="created")
    def added(self, run: ImportRun) -> str:
        """Return how many animals it added, with a link to those that are there."""
        address, count = _added(run), _counted(run, run.created)
        return format_html('<a href="{}">{}</a>', address, count) if address else count

    @admin.display(description="changed", ordering="updated")
    def changed(self, run: ImportRun) -> str:
        """Return how many animals it changed."""
        return _counted(run, run.updated)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> ImportRun | None:
        """Return the import. One that is recorded as running and is not is recorded as killed first."""
        run = super().get_object(request, object_id, from_field)
        if run is not None and run.state == ImportState.RUNNING:
            mark_killed()
            run.refresh_from_db()
        return run

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Show the record, with what can be done with what was imported, and by its sender with the file."""
        run: ImportRun = context["original"]
        may_import = self.has_add_permission(request)
        kept = ImportUpload.objects.filter(run=run, uploaded_by=request.user.pk).defer("content")
        changed = run.created + run.updated
        undo = reverse("admin:pets_importrun_undo", args=[run.pk])
        context |= {
            "name": str(run).capitalize() if run.file_name == STANDARD_INPUT else run.file_name,
            "badge": BADGES[run.state],
            "is_imported": run.state in IMPORTED,
            "changed": changed,
            "seconds": round(seconds(run)),
            "categories": Category.objects.filter(pk__in=run.new_categories),
            "asked_for": _asked_for(run),
            "added": _added(run) if may_see_animals(request) else "",
            "undo": undo if may_import and changed and run.state in STANDING else "",
            "upload": kept.first() if may_import else None,
        }
        return super().render_change_form(request, context, *args, **kwargs)

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def add_view(
        self, request: HttpRequest, _form_url: str = "", _extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Take a file and show what it would do; with `?template=csv` return one to fill in."""
        self._reject_others(request)
        if (wanted := request.GET.get("template")) in CONTENT_TYPES:
            return template(FileFormat(wanted))
        given = (request.POST, request.FILES) if request.method == "POST" else ()
        form = UploadForm(*given, may_add_categories=_may_add_categories(request))
        if form.is_valid():
            try:
                upload = keep(form.cleaned_data["file"], chosen=form.chosen(), member=request.user)
                if not understand(upload):
                    return HttpResponseRedirect(reverse("admin:pets_importrun_columns", args=[upload.pk]))
                return self._show_preview(request, upload)
            except ImportRejectedError as error:
                form.add_error("file", str(error))
        profiles = ColumnProfile.objects.all()
        page = self._page(request, "upload.html", title="Import animals", form=form, profiles=profiles)
        page.status_code = 400 if form.errors else 200
        return page

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def columns_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Ask how a file is read that is not clear by itself, and show what it would do."""
        upload = self._upload(request, upload_id)
        asked = ReadingForm(request.POST)
        chosen = asked.cleaned_data if asked.is_valid() else {}
        try:
            match = match_of(upload, encoding=chosen.get("encoding"), header_row=chosen.get("header"))
        except ImportRejectedError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:pets_importrun_add"))
        read = f"{match.how.encoding}:{match.how.header_row}"
        is_moved = request.method == "POST" and ("again" in request.POST or request.POST.get("read") != read)
        given = request.POST if request.method == "POST" and not is_moved else None
        form = ColumnsForm(given, match, file_name=upload.file_name)
        if form.is_valid():
            profile = form.cleaned_data["called"] if form.cleaned_data["remember"] else None
            try:
                choose(upload, form.reading(), profile=profile, sender=_sender())
                return self._show_preview(request, upload)
            except ImportRejectedError as error:
                form.add_error(None, str(error))
        shown = {"form": form, "read": read, "moved": is_moved, "title": f"Match the columns of {upload}"}
        page = self._page(request, "columns.html", **shown)
        page.status_code = 400 if form.errors else 200
        return page

    @method_decorator(require_POST)
    def forget_view(self, request: HttpRequest, profile_id: int) -> HttpResponse:
        """Delete a profile: the next file with its columns asks again."""
        self._reject_others(request)
        profile = get_object_or_404(ColumnProfile, pk=profile_id)
        profile.delete()
        self.message_user(request, f"Columns of “{profile}” forgotten.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:pets_importrun_add"))

    @method_decorator(require_POST)
    def preview_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Show once more what a file would do that was sent before and not imported."""
        upload = self._upload(request, upload_id)
        if "accept_near" in request.POST:
            accept_near(upload)
        try:
            return self._show_preview(request, upload)
        except ImportRejectedError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:pets_importrun_changelist"))

    @method_decorator(require_POST)
    def confirm_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Import what was shown, or show it again."""
        upload = self._upload(request, upload_id)
        if upload.run is not None and upload.run.state in IMPORTED:
            self.message_user(request, f"This was imported already: {upload.run}.", messages.WARNING)
            return self._record(upload.run)
        chosen = {name: name in request.POST for name in ("again", "accept_references", "accept_names")}
        if upload.work is not None:
            if not large.is_running(upload):
                large.start(upload, _sender(), large.Confirmed(tally=request.POST.get("digest", ""), options=chosen))
            return self._work_page(upload)
        try:
            run = confirm(upload, request.POST.get("digest", ""), _sender(), **chosen)
        except BusyError as error:
            kept = {"upload": upload, "run": upload.run, "why": str(error), "title": f"Check {upload}"}
            return self._page(request, "busy.html", sent=request.POST, **kept)
        except ImportRejectedError as error:
            self.message_user(request, str(error), messages.ERROR)
            try:
                return self._show_preview(request, upload)
            except ImportRejectedError:
                return HttpResponseRedirect(reverse("admin:pets_importrun_add"))
        return self._record(run)

    @method_decorator(require_GET)
    def work_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Show how far a thread came with a large file, or what it found."""
        upload = self._upload(request, upload_id)
        if upload.work is None:
            raise Http404
        title = f"Check {upload}"
        if large.is_running(upload):
            return self._page(request, "work.html", title=upload.file_name, upload=upload, work=upload.work)
        if upload.work["state"] == "imported" and upload.run is not None:
            return self._record(upload.run)
        if upload.work["state"] == "checked" and upload.run is not None:
            seen = large.Check(upload.run, upload.work)
            return self._page(request, "preview.html", title=title, upload=upload, preview=seen, run=upload.run)
        return self._page(request, "work.html", title=title, upload=upload, work=upload.work)

    @method_decorator(require_POST)
    def stop_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Ask the thread that works on a file to stop."""
        upload = self._upload(request, upload_id)
        large.stop(upload)
        return self._work_page(upload)

    @method_decorator(require_GET)
    def rejects_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Return the rejected rows as a file that you can fix and send again."""
        upload = self._upload(request, upload_id)
        if not upload.rejects:
            raise Http404
        name = f"{upload.file_name.rpartition('.')[0] or 'animals'}-rejected.csv"
        return HttpResponse(
            bytes(upload.rejects),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or ""},
        )

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def undo_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        """Show what undoing would do, or undo a small import."""
        self._reject_others(request)
        run = self.get_object(request, str(run_id))
        if run is None:
            raise Http404
        shown: dict[str, Any] = {"title": f"Undo {run}", "original": run, "is_small": _is_small(run)}
        if not shown["is_small"]:
            return self._page(request, "undo.html", **shown)
        try:
            if request.method == "POST":
                undone = undo_import(run.pk, Progress(None, shown=False))
                return self._say_undone(request, undone)
            check_connection()
            plan = undoable(run.pk)
        except ImportRejectedError as error:
            self.message_user(request, str(error), messages.ERROR)
            return self._record(run)
        shown |= {"plan": plan, "count": plan.count, "left": plan.left, "left_count": plan.left_count}
        return self._page(request, "undo.html", **shown, more_left=plan.left_count - len(plan.left))

    def _say_undone(self, request: HttpRequest, undone: Undone) -> HttpResponse:
        """Say what was done, and go to the record, or to the page that lists what was left."""
        run, restored, categories = undone.run, undone.restored, undone.categories
        changed = bool(undone.deleted or restored)
        said = [f"{str(run).capitalize()} is {run.state}.", *(() if changed else ["No animal was changed."])]
        if restored:
            said.append(f"{restored:,} animal{' has its' if restored == 1 else 's have their'} former values again.")
        if categories:
            said.append(f"{categories:,} {'category was' if categories == 1 else 'categories were'} deleted.")
        if undone.deleted:
            said.append(f"{undone.deleted:,} {'animal was' if undone.deleted == 1 else 'animals were'} deleted.")
        level = messages.SUCCESS if changed else messages.WARNING
        self.message_user(request, format_html_join(" ", "{}", ((sentence,) for sentence in said)), level)
        page = "undo" if undone.left_count else "change"
        return HttpResponseRedirect(reverse(f"admin:pets_importrun_{page}", args=[run.pk]))

    def _reject_others(self, request: HttpRequest) -> None:
        if not self.has_add_permission(request):
            raise PermissionDenied

    def _upload(self, request: HttpRequest, upload_id: int) -> ImportUpload:
        """Return what this person sent, and no one else, if they can still do what they chose."""
        self._reject_others(request)
        upload = ImportUpload.objects.filter(pk=upload_id, uploaded_by=request.user.pk).first()
        if upload is None:
            raise Http404
        if upload.options["create_categories"] and not _may_add_categories(request):
            raise PermissionDenied
        return upload

    def _show_preview(self, request: HttpRequest, upload: ImportUpload) -> HttpResponse:
        if upload.work is not None or is_large(upload):
            if not large.is_running(upload):
                large.start(upload, _sender())
            return self._work_page(upload)
        seen = preview(upload, _sender())
        return self._page(
            request, "preview.html", title=f"Check {upload}", upload=upload, preview=seen, run=seen.outcome.run
        )

    def _work_page(self, upload: ImportUpload) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:pets_importrun_work", args=[upload.pk]))

    def _record(self, run: ImportRun) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:pets_importrun_change", args=[run.pk]))

    def _page(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        shared = self.admin_site.each_context(request) | {"opts": self.opts}
        return TemplateResponse(request, f"admin/pets/importrun/{template}", shared | context)


def _counted(run: ImportRun, count: int) -> str:
    """Return a count of animals, or a dash for an import that wrote none."""
    return f"{count:,}" if run.state in IMPORTED else NOTHING


def _may_add_categories(request: Any) -> bool:
    return bool(request.user.has_perm("categories.add_category"))


def _added(run: ImportRun) -> str:
    """Return the address of the list of the animals that it added, if there are some."""
    is_some = run.state in STANDING and run.created
    return reverse("admin:pets_pet_changelist", query={"import_run": run.pk}) if is_some else ""


def _asked_for(run: ImportRun) -> str:
    """Return the options that were set, in words."""
    options = run.options | run.options.get("reading", {})
    words = [word for name, word in OPTIONS.items() if options.get(name)]
    return ", ".join(words if options.get("keep_blanks", True) else [*words, "blank cells clear"])


def _sender() -> Sender:
    return Sender(who=acting().actor[:150])


def _is_small(run: ImportRun) -> bool:
    return run.created + run.updated <= MOST_ROWS
