"""Files in the back office, from the first look to the import."""

from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import DatabaseError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from changes.admin.notices import FILES, follow, page_of
from files import page, queue
from files.admin.forms import ColumnsForm, ReadingForm, UploadForm
from files.downloads import CONTENT_TYPES, headers, template
from files.errors import ImportRejectedError
from files.export import FileFormat
from files.uploads import choose, keep, match_of, permissions, take, understand
from history.admin import RecordAdmin
from pets.columns import COLUMNS
from pets.models import IMPORTED, ColumnProfile, ImportRun, ImportUpload

BOXES = ("again", "accept_ids", "accept_near", "accept_references", "accept_names")
"""What must be confirmed; the names are those of the options of an import."""

LINES = 50
"""Rows on a page."""

GONE = "This file is gone: it was discarded, or is older than a day. Nothing changed."

shown_or_sent = require_http_methods(["GET", "HEAD", "POST"])


@admin.register(ImportRun)
class ImportRunAdmin(RecordAdmin):
    """With permission to add imports, you can send a file, see what it would do, and import it."""

    def get_urls(self) -> list[URLPattern]:
        def view(page: Any) -> Any:
            return self.admin_site.admin_view(_unless_gone(page))

        return [
            path("add/", view(shown_or_sent(self.add_view)), name="pets_importrun_add"),
            path("add/<int:upload_id>/columns/", view(shown_or_sent(self.columns_view)), name="pets_importrun_columns"),
            path("add/forget/<int:profile_id>/", view(require_POST(self.forget_view)), name="pets_importrun_forget"),
            path("add/<int:upload_id>/preview/", view(require_POST(self.preview_view)), name="pets_importrun_preview"),
            path("add/<int:upload_id>/", view(require_GET(self.work_view)), name="pets_importrun_work"),
            path("add/<int:upload_id>/stop/", view(require_POST(self.stop_view)), name="pets_importrun_stop"),
            path("add/<int:upload_id>/confirm/", view(require_POST(self.confirm_view)), name="pets_importrun_confirm"),
            path("add/<int:upload_id>/take/", view(require_POST(self.take_view)), name="pets_importrun_take"),
            path("add/<int:upload_id>/rejects/", view(require_GET(self.rejects_view)), name="pets_importrun_rejects"),
            path("add/<int:upload_id>/discard/", view(require_POST(self.discard_view)), name="pets_importrun_discard"),
        ]

    def add_view(self, request: HttpRequest) -> HttpResponse:  # type: ignore[override]  # no form of Django's
        """Take a file and show what it would do; with `?template=csv` return one to fill in."""
        self._reject_others(request)
        if (wanted := request.GET.get("template")) in CONTENT_TYPES:
            return template(FileFormat(wanted))
        given = (request.POST, request.FILES) if request.method == "POST" else ()
        form = UploadForm(*given, may_add_categories=_may_add_categories(request))
        if form.is_valid():
            try:
                chosen = dict(form.cleaned_data)
                upload = keep(chosen.pop("file"), chosen=chosen, user=request.user)
                if not understand(upload, may_add=_may_add_categories(request)):
                    return HttpResponseRedirect(reverse("admin:pets_importrun_columns", args=[upload.pk]))
                return self._check(request, upload)
            except ImportRejectedError as error:
                form.add_error("file", str(error))
        profiles = ColumnProfile.objects.all()
        optional = [column.header for column in reversed(COLUMNS) if not column.required]
        shown = {"title": "Import animals", "form": form, "profiles": profiles, "optional": optional}
        page = self.page(request, "upload.html", **shown)
        page.status_code = 400 if form.errors else 200
        return page

    def columns_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Ask how a file is read that is not clear by itself, and show what it would do."""
        upload = self._upload(request, upload_id)
        if _is_past(upload):
            return self._work(request, upload)
        asked, may_add = ReadingForm(request.POST), _may_add_categories(request)
        try:
            match = match_of(upload, asked.choice(), may_add=may_add)
        except ImportRejectedError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:pets_importrun_add"))
        moved = asked.moved()
        given = request.POST if request.method == "POST" and not moved else None
        form = ColumnsForm(given, match, file_name=upload.file_name, may_add_categories=may_add)
        if not form.unseen and form.is_valid():
            profile = form.cleaned_data["called"] if form.cleaned_data["remember"] else None
            try:
                choose(upload, form.reading(), profile=profile, supplier=match.supplier)
                return self._check(request, upload)
            except ImportRejectedError as error:
                form.add_error(None, str(error))
        shown = {
            "form": form,
            "moved": moved,
            "found": (upload.work or {}).get("found"),
            "title": form.title() or f"Match the columns of {upload}",
        }
        page = self.page(request, "columns.html", **shown)
        page.status_code = 400 if form.errors and not form.unseen else 200
        return page

    def forget_view(self, request: HttpRequest, profile_id: int) -> HttpResponse:
        """Delete a profile: the next file with its columns asks again."""
        self._reject_others(request)
        profile = get_object_or_404(ColumnProfile, pk=profile_id)
        profile.delete()
        self.message_user(request, f"Columns of “{profile}” forgotten.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:pets_importrun_add"))

    def preview_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Check once more a file that was sent before and not imported."""
        return self._work(request, self._upload(request, upload_id))

    def confirm_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        options = {name: name in request.POST for name in BOXES}
        upload = self._upload(request, upload_id)
        confirmed: dict[str, Any] = {"digest": request.POST.get("digest", ""), "options": options}
        if run := upload.run:
            counts = {"Rows": run.rows, "New": run.created, "Changed": run.updated, "Rejected": run.rejected}
            confirmed["counts"] = [*counts.items()]
        return self._work(request, upload, confirmed)

    def take_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Take known references, not those that look like them, or ignore the IDs, and check the file again."""
        upload = self._upload(request, upload_id)
        if (upload.work or {}).get("state") == "checked":
            take(upload, request.POST.get("take", ""))
        return self._work(request, upload)

    def work_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Show how far the check or the import of a file is, or what was found."""
        upload = self._upload(request, upload_id)
        if upload.work is None:
            raise Http404
        if upload.waits_since is not None:
            is_stopping = queue.is_stopping(upload.pk)
            title = f"{'Checking' if upload.work['checks'] else 'Importing'} {upload}"
            return self.page(
                request, "work.html", title=title, upload=upload, work=page.work(upload), is_stopping=is_stopping
            )
        if upload.run is not None and upload.run.state in IMPORTED:
            return HttpResponseRedirect(page_of(upload.run))
        shown = {"title": f"Check {upload}", "upload": upload, "work": upload.work}
        if upload.work["state"] != "checked" or upload.run is None:
            return self.page(request, "work.html", **shown)
        found, kind = upload.work["found"], request.GET.get("show")
        lines = [line for line in found["lines"] if kind in {None, line["does"]}]
        earlier = ImportRun.objects.filter(pk=upload.work["earlier"]).first()
        to_import = upload.run.created + upload.run.updated
        shown |= {
            "run": upload.run,
            "found": found,
            "tallies": page.tallies(upload.run, found),
            "kind": kind,
            "columns": page.SHOWN,
            "lines": page.with_columns(Paginator(lines, LINES).get_page(request.GET.get("page"))),
            "earlier": earlier,
            "to_import": to_import,
            "boxes": found["boxes"] + (earlier is not None) if to_import else 0,
        }
        return self.page(request, "preview.html", **shown)

    def stop_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        upload = self._upload(request, upload_id)
        queue.stop(upload)
        return self._work_page(request, upload)

    def discard_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Forget a file that was not imported."""
        self._reject_others(request)
        with transaction.atomic():
            ImportUpload.objects.select_for_update().values("pk").get(pk=upload_id)  # no one begins to work on it
            upload = self._upload(request, upload_id)
            if not (is_past := _is_past(upload)):
                upload.delete()
        if is_past:
            return self._work(request, upload)
        self.message_user(request, f"“{upload}” was discarded. Nothing was imported from it.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:activity"))

    def rejects_view(self, request: HttpRequest, upload_id: int) -> HttpResponse:
        """Return the rejected rows as a file that you can fix and send again."""
        upload = self._upload(request, upload_id)
        if not upload.rejects:
            raise Http404
        name = f"{upload.file_name.rpartition('.')[0] or 'animals'}-rejected.csv"
        return HttpResponse(bytes(upload.rejects), headers=headers(name, FileFormat.CSV))

    def _reject_others(self, request: HttpRequest) -> None:
        if not request.user.has_perm("pets.add_importrun"):
            raise PermissionDenied

    def _upload(self, request: HttpRequest, upload_id: int) -> ImportUpload:
        """Return what this person sent, and no one else, if they can still do what they chose."""
        self._reject_others(request)
        kept = ImportUpload.objects.filter(pk=upload_id, uploaded_by=request.user.pk)
        upload = kept.select_related("run").defer("content", "rejects").first()
        if upload is None:
            raise Http404
        if not request.user.has_perms(permissions(upload)):
            raise PermissionDenied
        return upload

    def _work(
        self, request: HttpRequest, upload: ImportUpload, confirmed: dict[str, Any] | None = None
    ) -> HttpResponse:
        if upload.run is not None and upload.run.state in IMPORTED:
            self.message_user(request, f"This was imported already: {upload.run}.", messages.WARNING)
        elif upload.waits_since is None:
            queue.put(upload, confirmed)
        return self._work_page(request, upload)

    def _check(self, request: HttpRequest, upload: ImportUpload) -> HttpResponse:
        """Check the file for the first time and show what it would do; raises `ImportRejectedError`."""
        queue.put(upload)
        if upload.work is not None and upload.work["state"] == "rejected":
            raise ImportRejectedError(upload.work["why"])
        return self._work_page(request, upload)

    def _work_page(self, request: HttpRequest, upload: ImportUpload) -> HttpResponse:
        if upload.waits_since is not None:
            follow(request, FILES, upload.pk)
        return HttpResponseRedirect(reverse("admin:pets_importrun_work", args=[upload.pk]))


def _unless_gone(page: Any) -> Any:
    """Let the page say so if its file is discarded while it is made."""

    @wraps(page)
    def checked(request: HttpRequest, **of: int) -> HttpResponse:
        try:
            response: HttpResponse = page(request, **of)
        except (ImportUpload.DoesNotExist, DatabaseError):  # what is read later is gone, or what is saved
            if "upload_id" not in of or ImportUpload.objects.filter(pk=of["upload_id"]).exists():
                raise
            messages.warning(request, GONE)
            response = HttpResponseRedirect(reverse("admin:activity"))
        return response

    return checked


def _is_past(upload: ImportUpload) -> bool:
    """Return whether it is too late to choose how the file is read, or to forget it: in another tab, it went on."""
    return upload.waits_since is not None or (upload.run is not None and upload.run.state in IMPORTED)


def _may_add_categories(request: Any) -> bool:
    return bool(request.user.has_perm("categories.add_category"))
