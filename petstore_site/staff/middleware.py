"""Checks before every page of the back office, whatever the method."""

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from redis.exceptions import RedisError

from history.acting import identify
from petstore_site import errors
from petstore_site.errors import PEOPLE
from petstore_site.staff import lockout, sessions

logger = logging.getLogger(__name__)

LEAVING = {"admin:logout", "account_logout"}
CHANGING_PASSWORD = LEAVING | {"account_change_password"}
ADDING_SECOND_FACTOR = CHANGING_PASSWORD | {
    "account_reauthenticate",
    "mfa_index",
    "mfa_activate_totp",
    "mfa_add_webauthn",
}
TIMED_OUT = "Your session expired. Sign in to continue where you left off."
CHANGE_PASSWORD = "Someone else set your password. Choose your own to continue."  # noqa: S105
ADD_SECOND_FACTOR = "Set up a second factor to continue: an authenticator app or a passkey."
USE_SECOND_FACTOR = "Your account now has a second factor. Sign in with it."
ROOM = 16_384
"""Values that a call reserves: Python fetches 256 KB for them, and half of it is left."""


def _with_room(function: Any) -> Any:
    """Let all calls within a function share one block of memory.

    Python fetches blocks of 16 KB, for some 80 calls within each other, and gives one back when the call that needed it
    returns. A template whose loop lay at such a depth fetched one for each variable, a third of the time of a page.
    """
    function.__code__ = function.__code__.replace(co_stacksize=ROOM)
    return function


class StaffMiddleware:
    """End expired sessions, and redirect users who must first choose a password or set up a second factor."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    @_with_room
    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Skip other paths: the API has no sessions."""
        if not request.path_info.startswith(PEOPLE):
            return self.get_response(request)
        if request.user.is_authenticated:
            if sessions.is_over(request):
                _sign_out(request, TIMED_OUT)
            else:
                sessions.note_use(request)
                identify(f"staff {request.user.get_username()}")
        response = self.get_response(request)
        add_never_cache_headers(response)  # or the next user of the browser could go back to the recovery codes
        return response

    def process_view(self, request: Any, *_view: Any) -> HttpResponse | None:
        """Return a redirect to what the user must do first, or None."""
        if not request.path_info.startswith(PEOPLE) or not request.user.is_authenticated:
            return None
        page = request.resolver_match.view_name
        if request.user.must_change_password:
            return None if page in CHANGING_PASSWORD else _redirect(request, "account_change_password", CHANGE_PASSWORD)
        if not settings.REQUIRE_STAFF_MFA or sessions.used_second_factor(request):
            return None
        if request.user.has_second_factor:
            _sign_out(request, USE_SECOND_FACTOR)
            return None
        return None if page in ADDING_SECOND_FACTOR else _redirect(request, "mfa_index", ADD_SECOND_FACTOR)

    def process_template_response(self, _request: HttpRequest, response: Any) -> Any:
        """Respond with 429 to a form that was sent too often with a wrong password or code."""
        form = (response.context_data or {}).get("form")
        errors = form.errors.as_data() if isinstance(form, Form) else {}
        if any(error.code in lockout.CODES for of_field in errors.values() for error in of_field):
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
            response["Retry-After"] = str(lockout.PERIOD)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return 503 while failed sign-ins cannot be counted: passwords must not be guessed uncounted.

        Return 400 for JSON that is nested too deeply to be a passkey, and for a number or a time in an address that no
        database or calendar has. Else None.
        """
        if isinstance(error, (RecursionError, OverflowError)):
            return errors.bad_request(request, error)
        if not isinstance(error, RedisError):
            return None
        logger.error("Nobody can sign in: the cache that counts failed sign-ins cannot be reached: %s", error)
        return errors.unavailable(request, retry_after=2)


def _sign_out(request: HttpRequest, why: str) -> None:
    logout(request)
    messages.info(request, why)


def _redirect(request: HttpRequest, page: str, why: str) -> HttpResponse:
    messages.warning(request, why)
    return HttpResponseRedirect(reverse(page))
