"""The forms for staff accounts: a new one, one that changes, and a password that is reset."""

from typing import Any, ClassVar

from django import forms
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from petstore_site.staff.grants import is_administrator, lock_administrators, names_of, others_administrate, version_of
from petstore_site.staff.roles import ADMINISTRATOR
from petstore_site.staff.tasks import sentence

RIGHTS = {"is_active": "an active account", "is_staff": "the back office", "is_superuser": "superuser"}
CHANGED_SINCE = "Not saved. Someone else changed what this account can do after you opened it. Open it again."
LAST_ADMINISTRATOR = "Not saved. This is the last active administrator. Make someone else an administrator first."


class NewMemberForm(forms.ModelForm):
    """A new account without a password: its owner chooses one."""

    class Meta:
        model = User
        fields: ClassVar = ["username", "first_name", "last_name", "email", "groups"]


class MemberForm(UserChangeForm):
    """Keeps an active administrator, and asks twice before you give up your own rights."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """The version of the account when the form was opened."""
    sure = forms.BooleanField(required=False, widget=forms.HiddenInput)
    drop_own = forms.BooleanField(required=False, label="Take away what they can do without a role")
    editor: User
    """Who sends the form."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Say what the account can do without a role, as older releases could allow."""
        super().__init__(*args, **kwargs)
        self.initial["seen"] = version_of(self.instance)
        self.fields["drop_own"].help_text = sentence(names_of(self.instance.user_permissions.all()))

    def clean(self) -> dict[str, Any] | None:
        """Reject what nobody could undo, and ask again about what may be a mistake."""
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
