"""API keys in the back office. A secret is shown once, in the response to the POST that created it."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods

from history.conflicts import SeenForm
from history.pages import HistoryAdmin
from history.times import to_the_minute
from petstore_site.apikeys import keys
from petstore_site.apikeys.admin.listing import KeyList, StateFilter
from petstore_site.apikeys.models import APIKey, RotationError, Scope
from petstore_site.apikeys.overview import overview

EDITABLE = ["name", "contact", "rate_limit", "expires_at"]
HOURS_OF_A_YEAR = 365 * 24

page_and_post = method_decorator(require_http_methods(["GET", "HEAD", "POST"]))

EXPIRIES = {"30 days": 30, "90 days": 90, "one year": 365}
"""After how many days a key can expire, in words; any other day can be chosen too."""


class ExpiryWidget(forms.MultiWidget):
    """A select, and a day that it asks for with its last choice."""

    def __init__(self) -> None:
        """Name both parts for screen readers."""
        day = forms.DateInput({"type": "date", "aria-label": "Last day, in UTC"}, format="%Y-%m-%d")
        super().__init__([forms.Select({"aria-label": "Works until"}), day])

    def decompress(self, _value: datetime | None) -> list[str]:
        """Return what is chosen first: to keep it, whatever it is."""
        return ["keep", ""]


class ExpiryField(forms.MultiValueField):
    """When a key expires: as now, at the end of a day so many days ahead or of another day, or never."""

    widget = ExpiryWidget

    def __init__(self) -> None:
        parts = [forms.ChoiceField(), forms.DateField(required=False)]
        super().__init__(parts, label="Works until", required=False, require_all_fields=False)
        self.help_text = "Until the end of that day, in UTC."

    def offer(self, now: datetime | None) -> None:
        """Set the choices for a key that expires `now`."""
        self.now = now
        today = timezone.now().date()
        ends = {label: (days, today + timedelta(days=days)) for label, days in EXPIRIES.items()}
        presets = [(str(days), f"In {label}: {day.day} {day:%b %Y}") for label, (days, day) in ends.items()]
        keep = f"Keep {to_the_minute(now)}" if now else "Never"
        never = [("never", "Never")] if now else []
        choices = [("keep", keep), *presets, *never, ("date", "Another day…")]
        parts: tuple[Any, Any] = self.fields[0], self.widget.widgets[0]
        for part in parts:
            part.choices = choices
        self.widget.widgets[1].attrs["min"] = f"{today:%Y-%m-%d}"

    def compress(self, data_list: Sequence[Any]) -> datetime | None:
        """Return the last moment of what is chosen."""
        chosen, day = data_list or ("keep", None)
        if chosen == "keep":
            return self.now
        if chosen == "never":
            return None
        if chosen != "date":
            day = timezone.now().date() + timedelta(days=int(chosen))
        if day is None:
            raise ValidationError("Choose a day.")
        return datetime.combine(day, time.max, UTC)


class IssueForm(forms.ModelForm):
    """Issues at most one key: the form carries the id of its key, so sending it again makes no second one."""

    scope = forms.ChoiceField(
        choices=[(Scope.READ, "Read"), (Scope.WRITE, "Read and add")],
        initial=Scope.READ,
        label="Access",
        widget=forms.RadioSelect,
    )
    issues = forms.RegexField(
        rf"^{keys.KEY_ID.pattern}\Z",
        strip=False,
        required=False,
        initial=keys.generate_key_id,
        widget=forms.HiddenInput,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Suggest 90 days, and need a choice: a key without one never expires."""
        super().__init__(*args, **kwargs)
        expiry: Any = self.fields["expires_at"]
        expiry.offer(None)
        expiry.required = True
        expiry.initial = ["90", ""]

    def clean(self) -> dict[str, Any] | None:
        """Reject a form that was already sent."""
        key_id = self.cleaned_data.get("issues")
        if key_id and APIKey.objects.filter(key_id=key_id).exists():
            issued = f"This form has issued key {key_id}, which is not shown again."
            raise ValidationError(f"{issued} To issue another key, reload the page.", code="sent_again")
        return super().clean()


class EditForm(SeenForm):
    """Edits a key that is active."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer its present expiry first."""
        super().__init__(*args, **kwargs)
        expiry = self.fields.get("expires_at")
        if isinstance(expiry, ExpiryField):
            expiry.offer(self.instance.expires_at)


class RotateForm(forms.Form):
    """How long the old key still works."""

    grace_hours = forms.IntegerField(
        min_value=1, max_value=HOURS_OF_A_YEAR, initial=24, help_text="Hours for which the old key still works."
    )


@admin.register(APIKey)
class APIKeyAdmin(HistoryAdmin):
    """Keys are added, edited while active, rotated and revoked, and never deleted."""

    add_form_template = "admin/apikeys/apikey/add_form.html"
    list_display = ("name",)  # the template has the columns
    list_filter = (StateFilter,)
    linked_by: ClassVar = {"scope"}
    list_per_page = 50
    search_fields = ("name__matches", "key_id__matches", "contact__matches")
    ordering = ("-pk",)
    undoable: ClassVar = EDITABLE

    class Media:
        """A second click on the button that issues a key is not a second form."""

        js: ClassVar = ["petstore/submit-once.js"]

    def get_changelist(self, request: HttpRequest, **_kwargs: Any) -> type[KeyList]:  # noqa: ARG002 - Django's signature
        return KeyList

    def get_fields(self, request: HttpRequest, obj: APIKey | None = None) -> list[Any]:
        """Return what a form shows: the digest never."""
        if obj is None:
            return ["name", "contact", "scope", "rate_limit", "expires_at", "issues"]
        return [*EDITABLE, "seen"] if self.has_change_permission(request, obj) else EDITABLE

    def get_form(self, request: HttpRequest, obj: APIKey | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Return the form that issues a key, or the one that edits it, but not over a rotation that was not seen."""
        return super().get_form(request, obj, change, form=IssueForm if obj is None else EditForm, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Return the field of a column; of the expiry, one that asks for a day."""
        if db_field.name == "expires_at":
            return ExpiryField()
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or obj.is_active)

    def has_delete_permission(self, _request: HttpRequest, _obj: APIKey | None = None) -> bool:
        """Return False: a key is revoked, so that its use stays on record."""
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<path:object_id>/rotate/", view(self.rotate_view), name="apikeys_apikey_rotate"),
            path("<path:object_id>/revoke/", view(self.revoke_view), name="apikeys_apikey_revoke"),
            *super().get_urls(),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the form with one button: what it leads to is shown once."""
        context = {"title": "Issue an API key", "own_title": True, "default_limit": settings.RATE_LIMIT}
        try:
            return super().add_view(request, form_url, (extra_context or {}) | context)
        except IntegrityError:  # the same form, sent twice at the same moment: the other response shows the key
            self.message_user(request, "This form was sent twice. One key was issued; rotate it if you missed it.")
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))

    def render_change_form(self, request: Any, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form, and how its key is used: read again, as what was typed is in the one of the form."""
        if context["original"] is not None:
            context["overview"] = overview(context["original"].pk)
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: Any, obj: APIKey, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        """Issue the key, or write what was edited and nothing else, such as a revocation a moment ago."""
        if change:
            # Of a time that was not edited, the form has no microseconds. The history must not say that it changed.
            obj.refresh_from_db(fields=[name for name in EDITABLE if name not in form.changed_data])
            obj.save(update_fields=form.changed_data)
            return
        obj.created_by = request.user
        obj.give_secret(key_id=form.cleaned_data["issues"])
        obj.save()

    def response_add(self, request: HttpRequest, obj: APIKey, _post_url_continue: str | None = None) -> HttpResponse:
        """Show the secret in this response: a redirect would have to store it."""
        return self._show_secret(request, obj)

    @page_and_post
    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the grace period, then issue a key that replaces this one and show its secret once."""
        key = self._key_to_change(request, object_id)
        form = RotateForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                return self._show_secret(request, self._rotate(request, key, form.cleaned_data["grace_hours"]), old=key)
            except RotationError as error:
                form.add_error(None, str(error))
        return self.page(request, "rotate.html", original=key, title="Rotate API key", form=form)

    @page_and_post
    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = self._key_to_change(request, object_id)
        if request.method != "POST":
            return self.page(request, "revoke.html", original=key, title="Revoke API key")
        with transaction.atomic():
            if key.revoke():
                self.log_change(request, key, "Revoked.")
        self.message_user(request, f"{key} is revoked.")
        return HttpResponseRedirect(reverse("admin:apikeys_apikey_change", args=[key.pk]))

    def _key_to_change(self, request: HttpRequest, object_id: str) -> APIKey:
        if not self.has_change_permission(request):
            raise PermissionDenied
        key: APIKey | None = self.get_object(request, object_id)
        if key is None:
            raise Http404
        return key

    def _rotate(self, request: Any, old: APIKey, grace_hours: int) -> APIKey:
        with transaction.atomic():
            new, _secret = old.rotate(grace=timedelta(hours=grace_hours), created_by=request.user)
            self.log_change(request, old, f"Rotated: replaced by {new.key_id}.")
            self.log_addition(request, new, f"Issued to replace {old.key_id}.")
        return new

    def _show_secret(self, request: HttpRequest, key: APIKey, *, old: APIKey | None = None) -> HttpResponse:
        return self.page(request, "issued.html", original=key, title="Here is the new key", old=old)
