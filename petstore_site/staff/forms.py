"""Our texts for the forms of allauth."""

from typing import Any

from allauth.account.forms import ChangePasswordForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms


class AddPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]  # allauth has no types
    """A passkey that is a second factor, or replaces the password too."""

    passwordless = forms.BooleanField(
        required=False,
        initial=True,
        label="Sign in without a password",
        help_text="Your device asks for your fingerprint, your face or a PIN instead.",
    )


class OwnPasswordForm(ChangePasswordForm):  # type: ignore[misc]  # as above
    """The form for a new password, with its labels in our case and none of them twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Rename the fields."""
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.label = str(field.label).capitalize()
            field.widget.attrs.pop("placeholder", None)
