"""Our changes to allauth: no sign-up, no hint whether an account exists, encrypted secrets."""

import logging
from base64 import urlsafe_b64encode
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.crypto import salted_hmac

from petstore_site.staff import lockout
from petstore_site.staff.backends import StaffBackend
from petstore_site.staff.models import TemporaryPassword
from petstore_site.staff.sessions import signed_in_recently

logger = logging.getLogger(__name__)

WRONG_CREDENTIALS = "The username or the password is not correct."
LOCKED = "Too many failed attempts. Wait 15 minutes and try again, or ask an administrator."

BEGUN_WITH = "staff_begun_with"
"""Session key of the password's hash at the first step, to notice a change before the second."""


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Accounts of the staff."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": WRONG_CREDENTIALS,
        "too_many_login_attempts": LOCKED,
        "rate_limited": LOCKED,
        "incorrect_password": "This is not your password.",
        "enter_current_password": "This is not your current password.",
    }

    def is_open_for_signup(self, _request: HttpRequest) -> bool:
        """Return False: administrators create accounts."""
        return False

    def authentication_failed(self, request: HttpRequest, **_credentials: Any) -> None:
        """Log the address but not the name: people sometimes type their password there."""
        logger.warning("A sign-in failed, from %s", self.get_client_ip(request))

    def pre_login(self, request: HttpRequest, user: Any, **_login: Any) -> HttpResponse | None:
        """Reject a passkey whose owner cannot sign in, like an unknown one. Remember the password's hash."""
        if not StaffBackend().user_can_authenticate(user):
            return self._reject(request)
        request.session[BEGUN_WITH] = user.get_session_auth_hash()
        return None

    def login(self, request: HttpRequest, user: Any) -> None:
        """Sign in, unless the account was deactivated or its password changed since the first step."""
        unchanged = request.session.pop(BEGUN_WITH, None) == user.get_session_auth_hash()
        if not unchanged or not StaffBackend().user_can_authenticate(user):
            raise ImmediateHttpResponse(self._reject(request))
        super().login(request, user)
        lockout.note_address(request, user)

    def _reject(self, request: HttpRequest) -> HttpResponse:
        logout(request)
        messages.error(request, str(self.error_messages["incorrect_code"]))
        return HttpResponseRedirect(reverse("account_login"))

    def is_reauthentication_required(self, **arguments: Any) -> bool:
        """Return whether the password must be entered again: not within five minutes of signing in."""
        return not signed_in_recently(self.request) and super().is_reauthentication_required(**arguments)

    def clean_password(self, password: str, user: Any = None) -> str:
        """Return a password that is valid and new; raise `ValidationError` otherwise."""
        if user is not None and user.check_password(password):
            raise ValidationError("Choose a password that differs from your current one.", code="same_as_current")
        return str(super().clean_password(password, user))

    def set_password(self, user: Any, password: str) -> None:
        """Save the password and nothing else. It is the owner's own choice, so it is not temporary.

        allauth would write the whole account, and undo a deactivation while the password is hashed.
        """
        user.set_password(password)
        user.save(update_fields=["password"])
        TemporaryPassword.objects.filter(user=user).delete()

    def get_password_change_redirect_url(self, _request: HttpRequest) -> str:
        return resolve_url(settings.LOGIN_REDIRECT_URL)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the attempt, and reject it if the name is locked: for this address, or for all that it never used."""
        name = credentials.get("username", "")
        try:
            super().pre_authenticate(request, **credentials)
            elsewhere = lockout.spend_elsewhere(request, name)
            if elsewhere is None:
                raise self.validation_error("too_many_login_attempts")
        except ValidationError:
            lockout.note(name)
            raise
        self._login_failed_rl_usage.usage += elsewhere

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count by name and address: allauth's own key has the Host in it, whose port the caller can choose."""
        return lockout.key_of(credentials.get("username", ""), ratelimit.get_ip(request))


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Second factors; their secrets are in the database only as encrypted by `SECRET_KEY`."""

    def encrypt(self, text: str) -> str:
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret, or raise `ValidationError` if the key that encrypted it is gone."""
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            message = "This second factor can no longer be read. Ask an administrator to remove it."
            raise ValidationError(message, code="unreadable") from None


def _cipher() -> MultiFernet:
    kind = "petstore_site.staff.adapters", "second factors"
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    derived = (salted_hmac(*kind, secret=key, algorithm="sha256").digest() for key in keys)
    return MultiFernet([Fernet(urlsafe_b64encode(key)) for key in derived])
