"""What the store does otherwise than allauth: nobody signs up, nothing is told of accounts, secrets are encrypted."""

import logging
from base64 import urlsafe_b64encode
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.stagekit import clear_login
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.crypto import salted_hmac

from petstore_site.staff.backends import StaffBackend
from petstore_site.staff.models import TemporaryPassword
from petstore_site.staff.sessions import signed_in_recently

logger = logging.getLogger(__name__)

REFUSED = "The user name or the password is not correct."
LOCKED = "Too many failed attempts. Wait 15 minutes and try again, or ask an administrator."

BEGUN_WITH = "staff_begun_with"
"""Where the session has the hash that tells whether the password is the one of the first step."""


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Accounts of the staff."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": REFUSED,
        "too_many_login_attempts": LOCKED,
        "rate_limited": LOCKED,
        "incorrect_password": "This is not your password.",
        "enter_current_password": "This is not your present password.",
    }

    def is_open_for_signup(self, _request: HttpRequest) -> bool:
        """Return that nobody makes an account for themselves."""
        return False

    def authentication_failed(self, request: HttpRequest, **_credentials: Any) -> None:
        """Log where it came from, and not the name, in whose place people type passwords."""
        logger.warning("A sign-in failed, from %s", self.get_client_ip(request))

    def pre_login(self, request: HttpRequest, user: Any, **_login: Any) -> HttpResponse | None:
        """Refuse a passkey whose owner may not sign in, as an unknown one is refused; note which password it was."""
        if not StaffBackend().user_can_authenticate(user):
            return self._refuse(request)
        request.session[BEGUN_WITH] = user.get_session_auth_hash()
        return None

    def login(self, request: HttpRequest, user: Any) -> None:
        """Sign in, unless the account was closed or its password changed since the first step."""
        unchanged = request.session.pop(BEGUN_WITH, None) == user.get_session_auth_hash()
        if not unchanged or not StaffBackend().user_can_authenticate(user):
            raise ImmediateHttpResponse(self._refuse(request))
        super().login(request, user)

    def _refuse(self, request: HttpRequest) -> HttpResponse:
        clear_login(request)
        messages.error(request, str(self.error_messages["incorrect_code"]))
        return HttpResponseRedirect(reverse("account_login"))

    def is_reauthentication_required(self, **given: Any) -> bool:
        """Return whether a password is asked for again: not within five minutes of signing in."""
        return not signed_in_recently(self.request) and super().is_reauthentication_required(**given)

    def clean_password(self, password: str, user: Any = None) -> str:
        """Return a password that is good, and new; raise `ValidationError` for any other."""
        if user is not None and user.check_password(password):
            message = "Choose another than the one you have."
            raise ValidationError(message, code="same_as_current")
        return str(super().clean_password(password, user))

    def set_password(self, user: Any, password: str) -> None:
        """Keep the password that its owner chose."""
        super().set_password(user, password)
        TemporaryPassword.objects.filter(user=user).delete()

    def get_password_change_redirect_url(self, _request: HttpRequest) -> str:
        """Return where to go with the new password."""
        return resolve_url(settings.LOGIN_REDIRECT_URL)

    def _get_login_attempts_cache_key(self, _request: HttpRequest, **credentials: Any) -> str:
        """Count by the account alone: allauth's own key has the Host in it, whose port the caller can choose."""
        return f"sign-in:{credentials.get('username', '').lower()}"


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Second factors; their secrets are in the database only as encrypted by `SECRET_KEY`."""

    def encrypt(self, text: str) -> str:
        """Return what may be stored."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret, or raise `ValidationError` if the key that encrypted it is gone."""
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            message = "This second factor can no longer be read. Ask an administrator to remove it."
            raise ValidationError(message, code="unreadable") from None


def _cipher() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(key)) for key in keys])


def _derived(secret_key: str) -> bytes:
    digest = salted_hmac("petstore_site.staff.adapters", "second factors", secret=secret_key, algorithm="sha256")
    return urlsafe_b64encode(digest.digest())
