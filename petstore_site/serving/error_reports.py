"""Error reports for Sentry, if SENTRY_DSN asks for them: which line of code failed, and the ID of the request.

They have no values: nothing that a caller sent, no headers, bodies, parameters or messages of exceptions. The log has
more under the same request ID.
"""

import logging

import sentry_sdk
from django.conf import settings
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.types import Event, Hint

from history.acting import acting
from petstore_site.logs import redact

KEPT = ("event_id", "timestamp", "platform", "level", "logger", "environment", "release", "server_name")
KEPT_OF_EXCEPTION = ("type", "module", "stacktrace")


def start() -> None:
    """Report each line of the log with level ERROR from now on."""
    sentry_sdk.init(
        settings.SENTRY_DSN,
        environment=settings.PETSTORE_ENVIRONMENT,
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[LoggingIntegration(level=None, event_level=logging.ERROR)],
        include_local_variables=False,
        max_breadcrumbs=0,
        auto_session_tracking=False,
        before_send=without_values,
    )


def without_values(event: Event, _hint: Hint) -> Event:
    """Return the report with what is known to have no values."""
    kept: Event = {name: event[name] for name in KEPT if name in event}  # type: ignore[literal-required, assignment]
    kept["logentry"] = {"message": redact(str(event.get("logentry", {}).get("message", "")))}
    kept["exception"] = {
        "values": [
            {name: one[name] for name in KEPT_OF_EXCEPTION if name in one}
            for one in event.get("exception", {}).get("values", [])
        ]
    }
    kept["tags"] = {"request_id": acting().request_id or "-"}
    return kept
