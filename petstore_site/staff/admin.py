"""Staff accounts and their roles in the back office. A one-time password is shown once, in the response itself."""

from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from petstore_site.staff.models import LIFETIME, TemporaryPassword

admin.site.unregister([User, Group, EmailAddress, Authenticator])


class NewMemberForm(forms.ModelForm):
    """A new account without a password: its owner chooses one."""

    class Meta:
        model = User
        fields: ClassVar = ["username", "first_name", "last_name", "email", "groups"]


class ResetForm(forms.Form):
    """Whether the second factors are removed too."""

    remove_second_factors = forms.BooleanField(
        required=False, label="Remove the second factors too", help_text="For a lost phone or security key."
    )


@admin.register(User)
class MemberAdmin(UserAdmin):
    """Staff members get roles, not single permissions. Only a superuser can create or edit superusers."""

    add_form = NewMemberForm
    add_form_template = "admin/change_form.html"
    add_fieldsets = [(None, {"fields": ["username", "first_name", "last_name", "email", "groups"]})]
    list_display = ["username", "first_name", "last_name", "email", "is_staff", "is_active", "last_login"]
    filter_horizontal = ["user_permissions"]

    class Media:
        """A double click on the button creates one account."""

        js: ClassVar = ["petstore/submit-once.js"]

    def get_readonly_fields(self, request: Any, _obj: User | None = None) -> Any:
        """Return the fields that this administrator cannot change: more rights than an administrator has."""
        shown = ["last_login", "date_joined"]
        return shown if request.user.is_superuser else [*shown, "is_superuser", "user_permissions"]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the roles as checkboxes: there are few."""
        if db_field.name == "groups":
            kwargs |= {"widget": forms.CheckboxSelectMultiple, "label": "Roles", "help_text": ""}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

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
class RoleAdmin(GroupAdmin):
    """Each migrate resets the four roles to those in `roles.py`. For other permissions, add a group."""


def _can_edit(request: Any, member: User | None) -> bool:
    return member is None or not member.is_superuser or request.user.is_superuser
