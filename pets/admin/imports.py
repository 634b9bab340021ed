"""Imports in the back office: their list, and files from the first look to the import."""

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
from django.utils.html import format_html
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from changes.acting import acting
from changes.admin import RecordAdmin, actor, moment, number
from changes.times import NOTHING
from pets.admin.columns import ColumnsForm, ReadingForm
from pets.admin.downloads import CONTENT_TYPES, template
from pets.admin.import_facts import BADGES, list_of_added, page_of
from pets.admin.permissions import may_see_imports
from pets.admin.upload_form import UploadForm
from pets.exporting import FileFormat
from pets.importing import large
from pets.importing.errors import BusyError, ImportRejectedError
from pets.importing.options import Sender
from pets.importing.uploads import (
    accept_near,
    choose,
    confirm,
    is_large,
    keep,
    match_of,
    preview,
    understand,
)
from pets.models import IMPORTED, ColumnProfile, ImportRun, ImportUpload


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
    """With permission to add imports, you can send a file, see what it would do, and import it."""

    list_display = [
        *("id", "file_name", "how", "added", "changed"),
        *(number("unchanged"), number("rejected"), actor("who"), moment("started_at")),
    ]
    list_display_links = ["id", "file_name"]
    list_filter = ["state", TroubleFilter, "started_at"]
    search_fields = ["file_name__matches", "=sha256"]

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
            path("<int:run_id>/undo/", view(self.former_view), name="pets_importrun_undo"),
            path("<int:run_id>/change/", view(self.former_view), name="pets_importrun_change"),
            *super().get_urls(),
        ]

    @admin.display(description="state", ordering="state")
    def how(self, run: ImportRun) -> str:
        """Return its state, as a badge."""
        return format_html('<span class="badge badge-{}">{}</span>', BADGES[run.state], run.get_state_display())

    @admin.display(description="added", ordering="created")
    def added(self, run: ImportRun) -> str:
        """Return how many animals it added, with a link to those that are there."""
        address, count = list_of_added(run), _counted(run, run.created)
        return format_html('<a href="{}">{}</a>', address, count) if address else count

    @admin.display(description="changed", ordering="updated")
    def changed(self, run: ImportRun) -> str:
        """Return how many animals it changed."""
        return _counted(run, run.updated)

    @method_decorator(require_safe)
    def former_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        """Redirect from the addresses that the page of an import had before it was that of its change."""
        if not may_see_imports(request.user):
            raise PermissionDenied
        return self._record(get_object_or_404(ImportRun, pk=run_id))

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
        return HttpResponseRedirect(page_of(run))

    def _page(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        shared = self.admin_site.each_context(request) | {"opts": self.opts}
        return TemplateResponse(request, f"admin/pets/importrun/{template}", shared | context)


def _counted(run: ImportRun, count: int) -> str:
    """Return a count of animals, or a dash for an import that wrote none."""
    return f"{count:,}" if run.state in IMPORTED else NOTHING


def _may_add_categories(request: Any) -> bool:
    return bool(request.user.has_perm("categories.add_category"))


def _sender() -> Sender:
    return Sender(who=acting().actor[:150])
