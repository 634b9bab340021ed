"""Staff accounts in the back office. A one-time password is shown once, in the response itself."""

from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.functions import Coalesce, NullIf
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_POST

from database.errors import STATEMENT_TIMED_OUT, sqlstate
from history.admin import OfficeAdmin, moment
from history.times import NOTHING
from petstore_site.drawing import badge, icon
from petstore_site.staff import lockout
from petstore_site.staff.admin.forms import MemberForm, NewMemberForm, ResetForm
from petstore_site.staff.grants import (
    grantable_roles,
    held_by,
    is_administrator,
    lock_administrators,
    may_edit,
    others_administrate,
)
from petstore_site.staff.models import LIFETIME, TemporaryPassword
from petstore_site.staff.tasks import sentence

admin.site.unregister([User, EmailAddress, Authenticator])

TOO_MANY_CHANGES = "Not deleted. Too many changes in the history are theirs. Untick “Active” instead."

WORDS = {
    "username": {"help_text": "They sign in with it."},
    "is_active": {"help_text": "Untick it when someone leaves: their sessions end, and the history keeps their name."},
    "is_staff": {"label": "Can open the back office", "help_text": ""},
    "is_superuser": {"label": "Can do everything, without a role", "help_text": "We call this a superuser."},
}
SECOND_FACTORS = [
    (Authenticator.Type.WEBAUTHN, "fingerprint", "Passkey"),
    (Authenticator.Type.TOTP, "smartphone", "App"),
]


class RoleFilter(admin.RelatedFieldListFilter):
    """Filters the accounts by role, which Django calls a group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "role"


@admin.register(User)
class MemberAdmin(OfficeAdmin, UserAdmin):
    """Staff members get roles, not single permissions. Only a superuser can create or edit superusers."""

    form = MemberForm
    add_form = NewMemberForm
    add_form_template = "admin/change_form.html"
    add_fieldsets = [(None, {"fields": ["username", "first_name", "last_name", "email", "groups"]})]
    list_display = ["name", "roles", "sign_in", "second_factor", moment("last_login", "last sign-in")]
    list_filter = ["is_active", ("groups", RoleFilter)]
    search_fields = ["username__matches", "first_name__matches", "last_name__matches", "email__matches"]
    actions = None
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "first_name", "last_name", "email"]}),
        ("Roles", {"fields": ["is_active", "is_staff", "groups"]}),
    ]

    class Media:
        """A double click on the button creates one account."""

        js: ClassVar = ["petstore/submit-once.js"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return (
            super()
            .get_queryset(request)
            .prefetch_related("groups", "authenticator_set")
            .annotate(is_invited=Exists(TemporaryPassword.objects.filter(user=OuterRef("pk"))))
        )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        page: Any = super().changelist_view(request, extra_context)
        if "cl" in (getattr(page, "context_data", None) or {}):
            members = page.context_data["cl"].result_list
            locked = lockout.locked_of(member.get_username() for member in members)
            for member in members:
                member.is_locked = member.get_username() in locked
            page.context_data["locked"] = [member for member in members if member.is_locked]
        return page

    @admin.display(description="name", ordering=Coalesce(NullIf("first_name", Value("")), "username"))
    def name(self, member: User) -> str:
        own = (text for text in (member.get_username(), member.email) if text and text != _name(member))
        return format_html("{}<small>{}</small>", _name(member), ", ".join(own))

    @admin.display(description="roles")
    def roles(self, member: User) -> str:
        superuser = ["Superuser"] if member.is_superuser else []
        names = [*superuser, *sorted(role.name for role in member.groups.all())]
        return format_html_join(" ", '<span class="tag">{}</span>', ((name,) for name in names)) or NOTHING

    @admin.display(description="sign-in", ordering="is_active")
    def sign_in(self, member: Any) -> str:
        return badge(*state_of(member, is_locked=member.is_locked))

    @admin.display(description="second factor")
    def second_factor(self, member: Any) -> str:
        kinds = {factor.type for factor in member.authenticator_set.all()}
        icons = [(name, label) for kind, name, label in SECOND_FACTORS if kind in kinds]
        return format_html_join(", ", "{} {}", ((icon(name), label) for name, label in icons)) or NOTHING

    def get_fieldsets(self, request: Any, obj: User | None = None) -> Any:
        """Return the fields, of which only a superuser has those that give more than an administrator has."""
        sets = super().get_fieldsets(request, obj)
        if obj is None or not request.user.is_superuser:
            return sets
        own = ["drop_own"] if obj.user_permissions.exists() else []
        return [*sets, ("Without a role", {"fields": ["is_superuser", *own]})]

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        kwargs |= WORDS.get(db_field.name, {})
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the roles as checkboxes, each with what it can do."""
        kwargs |= {"widget": forms.CheckboxSelectMultiple, "label": "Roles", "help_text": ""}
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        held = held_by(Group.objects.all())
        in_words = '{}<small class="help">{}</small>'
        field.label_from_instance = lambda role: format_html(in_words, role.name, sentence(held.get(role.pk, ())))
        return field

    def get_form(self, request: Any, obj: User | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Return a form that takes no role beyond what its sender can do and what is held already."""
        form: Any = super().get_form(request, obj, **kwargs)
        if roles := form.base_fields.get("groups"):
            held = obj.groups.values("pk") if obj else []
            roles.queryset = roles.queryset.filter(
                Q(pk__in=grantable_roles(request.user).values("pk")) | Q(pk__in=held)
            )
        return form

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """Return whom a deletion takes; the last active administrators are protected.

        What belongs to an account, such as its known addresses and its saved views, goes with it and has no page: so it
        needs no permission of its own, and is not looked for.
        """
        if request.method == "POST":
            lock_administrators()
        names, gone = [_name(member) for member in objs], [member for member in objs if is_administrator(member)]
        is_last = bool(gone) and not others_administrate(*gone)
        return names, {}, set(), [f"{member}, the last active administrator" for member in gone if is_last]

    def get_urls(self) -> list[URLPattern]:
        unlock = self.admin_site.admin_view(self.unlock_view)
        return [path("<id>/unlock/", unlock, name="auth_user_unlock"), *super().get_urls()]

    def render_change_form(self, request: Any, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form, and how the owner of an account signs in."""
        member = context["original"]
        if member and request.method != "GET":  # what was typed is in this one
            member = self.get_queryset(request).filter(pk=member.pk).first()
        if member:
            is_locked = bool(lockout.locked_of([member.get_username()]))
            factors = [*member.authenticator_set.all()]
            codes = next((one.wrap() for one in factors if one.type == Authenticator.Type.RECOVERY_CODES), None)
            context |= {
                "is_locked": is_locked,
                "state": state_of(member, is_locked=is_locked),
                "factors": [factor for factor in factors if factor.type != Authenticator.Type.RECOVERY_CODES],
                "codes_left": codes and len(codes.get_unused_codes()),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Ask, and delete; say what to do instead if that is more than fits into a statement's deadline."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except OperationalError as error:
            if sqlstate(error) != STATEMENT_TIMED_OUT:
                raise
        self.message_user(request, TOO_MANY_CHANGES, messages.ERROR)
        return HttpResponseRedirect(reverse("admin:auth_user_change", args=[object_id]))

    @method_decorator(require_POST)
    def unlock_view(self, request: HttpRequest, id: str) -> HttpResponse:  # noqa: A002 - as Django calls it
        member = self._member_to_change(request, id)
        lockout.unlock(member.get_username())
        self.log_change(request, member, "Unlocked.")
        self.message_user(request, f"{member} can sign in again.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:auth_user_change", args=[member.pk]))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _can_edit(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _can_edit(request, obj)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the form with one button: the next page is shown only once."""
        only_save = {"show_save_and_add_another": False}
        return super().add_view(request, form_url, (extra_context or {}) | only_save)

    def save_model(self, _request: Any, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        """Give a new account staff status and a one-time password. Of another, take away what is to go.

        Write what was edited and nothing else, such as a password that was changed a moment ago.
        """
        if change:
            obj.save(update_fields={field.name for field in self.opts.concrete_fields}.intersection(form.changed_data))
            if form.cleaned_data["drop_own"]:
                obj.user_permissions.clear()
            return
        obj.is_staff = True
        obj.save()
        obj.one_time_password = TemporaryPassword.objects.give(obj)

    def response_add(self, request: HttpRequest, obj: Any, _post_url_continue: str | None = None) -> HttpResponse:
        """Show the password in this response: a redirect would have to store it."""
        return self._show_password(request, obj, obj.one_time_password)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002, ARG002 - Django's names
        """Ask, then set a new one-time password and show it once."""
        member = self._member_to_change(request, id)
        form = ResetForm(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self.page(request, "reset.html", original=member, title="Reset the password", form=form)
        return self._show_password(request, member, self._reset(request, member, **form.cleaned_data))

    def _member_to_change(self, request: HttpRequest, object_id: str) -> User:
        if not self.has_change_permission(request):
            raise PermissionDenied
        member: User | None = self.get_object(request, object_id)
        if member is None:
            raise Http404
        if not self.has_change_permission(request, member):
            raise PermissionDenied
        return member

    @transaction.atomic
    def _reset(self, request: Any, member: User, *, remove_second_factors: bool) -> str:
        get_object_or_404(User.objects.select_for_update(no_key=True), pk=member.pk)  # it may just have been deleted
        password = TemporaryPassword.objects.give(member)
        lockout.unlock(member.get_username())
        done = "One-time password set."
        if remove_second_factors:
            Authenticator.objects.filter(user=member).delete()
            done = "One-time password set. Second factors removed."
        self.log_change(request, member, done)
        return password

    def _show_password(self, request: HttpRequest, member: User, password: str) -> HttpResponse:
        shown = {"title": "Copy the one-time password now", "password": password, "hours": LIFETIME.days * 24}
        return self.page(request, "one_time_password.html", original=member, **shown)


def state_of(member: Any, *, is_locked: bool) -> tuple[str, str]:
    """Return whether an account can sign in, as the kind of a badge and its words."""
    if not member.is_active:
        return "revoked", "Deactivated"
    if not member.is_staff:
        return "revoked", "Not staff"
    if is_locked:
        return "failed", "Locked"
    return ("pending", "Invited") if member.is_invited else ("active", "Can sign in")


def _name(member: User) -> str:
    return member.get_full_name() or member.get_username()


def _can_edit(request: Any, member: Any) -> bool:
    """Return whether the user may edit an account; a page that only shows it asks once."""
    if member is None:
        return True
    if request.method != "GET" or not hasattr(member, "is_editable"):
        member.is_editable = may_edit(request.user, member)
    return bool(member.is_editable)
