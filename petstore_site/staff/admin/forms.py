"""The forms for staff accounts: a new one, one that changes, and a password that is reset."""

from typing import Any, ClassVar

from django import forms
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from petstore_site.staff.grants import is_administrator, lock_administrators, names_of, others_administrate, version_of
from petstore_site.staff.roles import ADMINISTRATOR
from petstore_site.staff.tasks import sentence

CHANGED_SINCE = "Not saved. Someone else changed what this account can do after you opened it. Open it again."
LAST_ADMINISTRATOR = "Not saved. This is the last active administrator. Make someone else an administrator first."


class NewMemberForm(forms.ModelForm):
    """A new account without a password: its owner chooses one."""

    class Meta:
        model = User
        fields: ClassVar = ["username", "first_name", "last_name", "email", "groups"]


class MemberForm(UserChangeForm):
    """Keeps an active administrator."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """The version of the account when the form was opened."""
    drop_own = forms.BooleanField(required=False, label="Take away what they can do without a role")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Say what the account can do without a role, as older releases could allow."""
        super().__init__(*args, **kwargs)
        self.initial["seen"] = version_of(self.instance)
        self.fields["drop_own"].help_text = sentence(names_of(self.instance.user_permissions.all()))

    def clean(self) -> dict[str, Any] | None:
        """Reject what nobody could undo."""
        cleaned = super().clean()
        if self.errors or self.instance.pk is None:
            return cleaned
        lock_administrators()
        now = User.objects.select_for_update(no_key=True).filter(pk=self.instance.pk).first()
        if now is None or self.cleaned_data["seen"] != version_of(now):
            raise ValidationError(CHANGED_SINCE, code="changed_since")
        if (
            is_administrator(self.instance)
            and not self._stays_administrator()
            and not others_administrate(self.instance)
        ):
            raise ValidationError(LAST_ADMINISTRATOR, code="last_administrator")
        return cleaned

    def _after(self, column: str) -> bool:
        return bool(self.cleaned_data.get(column, getattr(self.instance, column)))

    def _stays_administrator(self) -> bool:
        groups = self.cleaned_data.get("groups", [])
        has_role = any(group.name == ADMINISTRATOR for group in groups)
        return self._after("is_active") and self._after("is_staff") and (self._after("is_superuser") or has_role)


class ResetForm(forms.Form):
    """Whether the second factors are removed too."""

    remove_second_factors = forms.BooleanField(
        required=False, label="Remove the second factors too", help_text="For a lost phone or security key."
    )
