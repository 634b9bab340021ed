"""Staff accounts and their roles in the back office. A one-time password is shown once, in the response itself."""

from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from history.admin import OfficeAdmin, moment
from history.times import NOTHING
from petstore_site.staff import lockout
from petstore_site.staff.grants import grantable_permissions, grantable_roles, limit, may_edit
from petstore_site.staff.models import LIFETIME, TemporaryPassword
from petstore_site.staff.roles import ADMINISTRATOR, ROLES
from petstore_site.templatetags.office import badge

admin.site.unregister([User, Group, EmailAddress, Authenticator])


RIGHTS = {"is_active": "an active account", "is_staff": "the back office", "is_superuser": "superuser"}
HELP = {
    "username": "They sign in with it.",
    "is_active": "Untick it when someone leaves: their sessions end, and the history keeps their name.",
    "is_staff": "They can open the back office.",
    "is_superuser": "They can do everything, without a role.",
}
LAST_ADMINISTRATOR = "Not saved. This is the last active administrator. Make someone else an administrator first."


class NewMemberForm(forms.ModelForm):
    """A new account without a password: its owner chooses one."""

    class Meta:
        model = User
        fields: ClassVar = ["username", "first_name", "last_name", "email", "groups"]


class MemberForm(UserChangeForm):
    """Keeps an active administrator, and asks twice before you give up your own rights."""

    sure = forms.BooleanField(required=False, widget=forms.HiddenInput)
    editor: User
    """Who sends the form."""

    def clean(self) -> dict[str, Any] | None:
        """Reject what nobody could undo, and ask again about what may be a mistake."""
        cleaned = super().clean()
        if self.errors or self.instance.pk is None:
            return cleaned
        if _is_administrator(self.instance) and not self._stays_administrator() and not _others(self.instance).exists():
            raise ValidationError(LAST_ADMINISTRATOR, code="last_administrator")
        if self.instance.pk == self.editor.pk and (lost := self._lost()) and not self.cleaned_data.get("sure"):
            again: Any = self.data
            self.data = again = again.copy()
            again["sure"] = "on"
            message = f"Not saved. You would lose rights of your own: {lost}. To do it anyway, save again."
            raise ValidationError(message, code="own_rights")
        return cleaned

    def _after(self, column: str) -> bool:
        return bool(self.cleaned_data.get(column, getattr(self.instance, column)))

    def _stays_administrator(self) -> bool:
        groups = self.cleaned_data.get("groups", [])
        has_role = any(group.name == ADMINISTRATOR for group in groups)
        return self._after("is_active") and self._after("is_staff") and (self._after("is_superuser") or has_role)

    def _lost(self) -> str:
        """Return the rights that the account has and would not have."""
        before = User.objects.get(pk=self.instance.pk)
        kept = {group.pk for group in self.cleaned_data.get("groups", [])}
        switched_off = [
            label for column, label in RIGHTS.items() if getattr(before, column) and not self._after(column)
        ]
        return ", ".join([*switched_off, *(group.name for group in before.groups.all() if group.pk not in kept)])


class ResetForm(forms.Form):
    """Whether the second factors are removed too."""

    remove_second_factors = forms.BooleanField(
        required=False, label="Remove the second factors too", help_text="For a lost phone or security key."
    )


class RoleFilter(admin.RelatedFieldListFilter):
    """Filters the accounts by role, which Django calls a group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the store's word."""
        super().__init__(*args, **kwargs)
        self.title = "role"


@admin.register(User)
class MemberAdmin(OfficeAdmin, UserAdmin):
    """Staff members get roles, not single permissions. Only a superuser can create or edit superusers."""

    form = MemberForm
    add_form = NewMemberForm
    add_form_template = "admin/change_form.html"
    add_fieldsets = [(None, {"fields": ["username", "first_name", "last_name", "email", "groups"]})]
    list_display = ["username", "roles", "active", "full_name", "email", moment("last_login")]
    list_filter = ["is_active", "is_superuser", ("groups", RoleFilter)]
    actions = None
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "first_name", "last_name", "email"]}),
        ("Roles", {"fields": ["is_active", "groups"]}),
        ("Other permissions", {"fields": ["is_staff", "is_superuser", "user_permissions"]}),
        ("Dates", {"fields": ["last_login", "date_joined"]}),
    ]

    class Media:
        """A double click on the button creates one account."""

        js: ClassVar = ["petstore/submit-once.js"]

    def get_queryset(self, request: HttpRequest) -> Any:
        """Load the roles with the accounts."""
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="roles")
    def roles(self, member: User) -> str:
        """Return the roles in words."""
        superuser = ["Superuser"] if member.is_superuser else []
        return ", ".join([*superuser, *sorted(role.name for role in member.groups.all())]) or "none"

    @admin.display(description="state", ordering="is_active")
    def active(self, member: User) -> str:
        """Return whether they can sign in."""
        return badge("active", "Active") if member.is_active else badge("revoked", "Inactive")

    @admin.display(description="name", ordering="last_name")
    def full_name(self, member: User) -> str:
        """Return the first and the last name."""
        return member.get_full_name() or NOTHING

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Say what a right means in the words of the store."""
        if db_field.name in HELP:
            kwargs["help_text"] = HELP[db_field.name]
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: Any, _obj: User | None = None) -> Any:
        """Return the fields that this administrator cannot change: more rights than an administrator has."""
        shown = ["last_login", "date_joined"]
        return shown if request.user.is_superuser else [*shown, "is_superuser", "user_permissions"]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the roles and the permissions as checkboxes."""
        label = "Roles" if db_field.name == "groups" else "Permissions"
        kwargs |= {"widget": forms.CheckboxSelectMultiple, "label": label, "help_text": ""}
        return _in_words(super().formfield_for_manytomany(db_field, request, **kwargs))

    def get_form(self, request: Any, obj: User | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Return a form that knows who sends it, and takes no role beyond what they can do."""
        form = super().get_form(request, obj, **kwargs)
        if "groups" in form.base_fields:
            limit(form.base_fields["groups"], grantable_roles(request.user), obj.groups.all() if obj else None)
        form.editor = request.user  # type: ignore[attr-defined]  # a MemberForm
        return form

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """Return what a deletion takes along; the last active administrators are protected."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        gone = [member for member in objs if _is_administrator(member)]
        if gone and not _others(*gone).exists():
            protected = [*protected, *(f"{member}, the last active administrator" for member in gone)]
        return deleted, counts, lacking, protected

    def get_urls(self) -> list[URLPattern]:
        """Add unlocking."""
        unlock = self.admin_site.admin_view(self.unlock_view)
        return [path("<id>/unlock/", unlock, name="auth_user_unlock"), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show whether failed sign-ins have locked the account."""
        member = self.get_object(request, object_id)
        locked = {"is_locked": member is not None and lockout.is_locked(member.get_username())}
        return super().change_view(request, object_id, form_url, (extra_context or {}) | locked)

    @method_decorator(require_POST)
    def unlock_view(self, request: HttpRequest, id: str) -> HttpResponse:  # noqa: A002 - as Django calls it
        """Forget the failed sign-ins of the account."""
        member = self._member_to_change(request, id)
        lockout.unlock(member.get_username())
        self.log_change(request, member, "Unlocked.")
        self.message_user(request, f"{member} can sign in again.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:auth_user_change", args=[member.pk]))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Return whether the user can change accounts, and this one."""
        return super().has_change_permission(request, obj) and _can_edit(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Return whether the user can delete accounts, and this one."""
        return super().has_delete_permission(request, obj) and _can_edit(request, obj)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the form with one button: the next page is shown only once."""
        only_save = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | only_save)

    def save_model(self, request: Any, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        """Give a new account staff status and a one-time password."""
        if change:
            super().save_model(request, obj, form, change)
            return
        obj.is_staff = True
        obj.one_time_password = TemporaryPassword.objects.give(obj)

    def response_add(self, request: HttpRequest, obj: Any, _post_url_continue: str | None = None) -> HttpResponse:
        """Show the password in this response: a redirect would have to store it."""
        return self._show_password(request, obj, obj.one_time_password)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002, ARG002 - Django's names
        """Ask, then set a new one-time password and show it once."""
        member = self._member_to_change(request, id)
        form = ResetForm(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self._page(request, "reset.html", member, title="Reset the password", form=form)
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
        response = self._page(request, "one_time_password.html", member, **shown)
        response["Cache-Control"] = "no-store"
        return response

    def _page(self, request: HttpRequest, template: str, member: User, **context: Any) -> HttpResponse:
        shared = self.admin_site.each_context(request) | {"opts": self.opts, "original": member}
        return TemplateResponse(request, f"admin/auth/user/{template}", shared | context)


@admin.register(Group)
class RoleAdmin(OfficeAdmin, GroupAdmin):
    """Each migrate resets the four roles to those in `roles.py`. For other permissions, add a group."""

    filter_horizontal = ()
    list_display = ["role"]
    actions = None

    @admin.display(description="role", ordering="name")
    def role(self, group: Group) -> str:
        """Return the name."""
        return group.name

    @admin.display(description="can")
    def what(self, group: Group) -> str:
        """Return the permissions in words: "animal: add, change"."""
        verbs: dict[str, list[str]] = {}
        for permission in group.permissions.select_related("content_type"):
            verb = permission.codename.removesuffix(f"_{permission.content_type.model}").replace("_", " ")
            verbs.setdefault(permission.content_type.name, []).append(verb)
        return "\n".join(f"{thing}: {', '.join(can)}" for thing, can in verbs.items())

    def get_fields(self, request: HttpRequest, obj: Group | None = None) -> Any:
        """Return the permissions in words for a role that cannot be changed."""
        return ["name", "permissions" if self.has_change_permission(request, obj) else "what"]

    def get_readonly_fields(self, _request: HttpRequest, _obj: Group | None = None) -> Any:
        """Return what is never typed."""
        return ["what"]

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Return whether the user can change roles, and this one: not the four that `roles.py` sets."""
        return super().has_change_permission(request, obj) and (obj is None or obj.name not in ROLES)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Return the same for deleting."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.name not in ROLES)

    def get_form(self, request: Any, obj: Group | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Return a form that takes no permission which its sender lacks."""
        form = super().get_form(request, obj, **kwargs)
        if "permissions" in form.base_fields:
            held = obj.permissions.all() if obj else None
            limit(form.base_fields["permissions"], grantable_permissions(request.user), held)
        return form

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        """Return the permissions as checkboxes."""
        kwargs |= {"widget": forms.CheckboxSelectMultiple, "help_text": ""}
        return _in_words(super().formfield_for_manytomany(db_field, request, **kwargs))


def _in_words(field: Any) -> Any:
    """Name permissions as Django does, but without the app and the table."""
    if field.queryset.model is Permission:
        field.label_from_instance = lambda permission: permission.name
    return field


def _can_edit(request: Any, member: User | None) -> bool:
    return member is None or may_edit(request.user, member)


def _is_administrator(member: User) -> bool:
    return bool(_administrators().filter(pk=member.pk).exists())


def _others(*members: User) -> Any:
    """Return the active administrators beside these."""
    return _administrators().exclude(pk__in=[member.pk for member in members])


def _administrators() -> Any:
    role = Group.objects.filter(name=ADMINISTRATOR, user=OuterRef("pk"))
    return User.objects.filter(Q(is_superuser=True) | Exists(role), is_active=True, is_staff=True)
