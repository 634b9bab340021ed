"""What the store's form for a passkey says otherwise than allauth's."""

from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms


class AddPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]  # allauth has no types
    """A passkey that is a second factor, or all that is needed."""

    passwordless = forms.BooleanField(
        required=False,
        initial=True,
        label="Sign in with it alone",
        help_text="Without name and password; the device asks for your fingerprint, your face or a PIN.",
    )
