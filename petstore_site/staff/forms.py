"""Our texts for allauth's passkey form."""

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
