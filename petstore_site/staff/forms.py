"""Our texts for the forms of allauth."""

from typing import Any

from allauth.account.forms import ChangePasswordForm
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.utils import encrypt
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms


class SetUpAppForm(ActivateTOTPForm):  # type: ignore[misc]  # allauth has no types
    """An authenticator app, whose first code is used up by setting it up, as every code is by signing in."""

    def clean_code(self) -> str:
        """Return the code if it is right, and reject it from now on."""
        code = str(super().clean_code())
        app = Authenticator(user=self.user, type=Authenticator.Type.TOTP, data={"secret": encrypt(self.secret)})
        if not app.wrap().validate_code(code):
            raise get_adapter().validation_error("incorrect_code")
        return code


class AddPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]  # as above
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
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.label = str(field.label).capitalize()
            field.widget.attrs.pop("placeholder", None)
