"""Every environment variable that the service reads: name, parser, default, meaning.

`settings.py` reads them from here, and `tests/settings_page.py` writes docs/settings.md. gunicorn's master imports this
file, so that it must not import Django (deploy/gunicorn.conf.py).
"""

import os
import re

from petstore_site.configuration.addresses import (
    api_address,
    cache_address,
    collector_address,
    contact_address,
    exact_origins,
    hosts,
    listening_address,
    origins,
)
from petstore_site.configuration.env import ByEnvironment, Env, Variable, choice, flag, integer
from rest.rates import parse_rate


def random_key(text: str) -> str:
    """Return a secret key; raises `ValueError` if it can be guessed."""
    if len(text) < 50 or len(set(text)) < 5 or text.startswith("django-insecure-"):
        raise ValueError("must have 50 or more random characters.")
    return text


def random_keys(text: str) -> list[str]:
    """Return secret keys that are separated by commas or white space, such as the lines of a file."""
    return [random_key(item) for item in re.split(r"[,\s]+", text) if item]


def rate(text: str) -> str:
    """Return a rate limit as it was given."""
    parse_rate(text)
    return text


# fmt: off
GROUPS: dict[str, list[Variable]] = {
    "Where the service runs": [
        Variable(
            "PETSTORE_ENVIRONMENT", choice("production", "staging", "development"), "development",
            "`production`, `staging` or `development`. It sets the prefix of keys, the colours of the back office, and "
            "which settings are required.",
        ),
        Variable(
            "SECRET_KEY", random_key, "",
            "Signs sessions and cursors: 50 or more random characters.",
            shown="generated in development",
            is_secret=True,
            required="50 or more random characters, or SECRET_KEY_FILE, the path of a file with them.",
        ),
        Variable(
            "SECRET_KEY_FALLBACKS", random_keys, (),
            "Older keys that are still accepted, separated by commas or white space.",
            is_secret=True,
        ),
        Variable(
            "ALLOWED_HOSTS", hosts, (),
            "The host names of the service, separated by commas.",
            shown="this machine, in development", required="the host names of this service, separated by commas.",
        ),
        Variable(
            "HOST", listening_address, "127.0.0.1",
            "The address that gunicorn listens on. With systemd, `petstore.socket` has it.",
        ),
        Variable("PORT", integer(1, 65535), 8000, "The port that gunicorn listens on, without systemd."),
        Variable(
            "PRODUCTION_URL", api_address, "https://petstore.example/v1",
            "The address of the API in production. It ends in `/v1`. With more before that, the service lives "
            "[under a path](nginx.md#under-a-path).",
        ),
        Variable(
            "STAGING_URL", api_address, "https://staging.petstore.example/v1",
            "The address of the API in staging, as `PRODUCTION_URL`.",
        ),
        Variable(
            "STATIC_ROOT", str, "",
            "The folder of the static files, which `collectstatic` fills.",
            shown="`staticfiles`",
        ),
    ],
    "Data": [
        Variable(
            "DATABASE_URL", str, "sqlite:///var/petstore.sqlite3",
            "`postgres://USER:PASSWORD@HOST:5432/NAME[?sslmode=…]`, `sqlite:///relative/path` or "
            "`sqlite:////absolute/path`.",
            shown="`sqlite:///var/petstore.sqlite3` in development",
            is_secret=True,
            required="postgres://USER:PASSWORD@HOST:5432/NAME, or sqlite:////path for a small store.",
        ),
        Variable(
            "DATABASE_BEHIND_PGBOUNCER", flag, False,
            "`true` for [PgBouncer](databases.md#pgbouncer) in transaction mode.",
        ),
        Variable(
            "CACHE_URL", cache_address, "memory://",
            "`redis://[:PASSWORD@]HOST:6379/0` (or `rediss`, `valkey`, `valkeys`). Counts rate limits and failed "
            "sign-ins across all processes.",
            is_secret=True,
        ),
    ],
    "The API": [
        Variable("RATE_LIMIT", rate, "", "The rate limit of keys without their own: `N/s`, `N/min`, `N/h` or `N/day`."),
        Variable(
            "CORS_ALLOWED_ORIGINS", exact_origins, (),
            "Origins of web pages that can call the API, separated by commas.",
        ),
    ],
    "Pages and sign-in": [
        Variable(
            "BEHIND_TLS_PROXY", flag, ByEnvironment(False, True, True),
            "Whether to trust the proxy's `X-Forwarded-Proto`, and the last address in its `X-Forwarded-For`.",
        ),
        Variable(
            "SECURITY_CONTACT", contact_address, "",
            "Where people report a vulnerability: `mailto:` and an address, or an `https://` page. "
            "`/.well-known/security.txt` shows it.",
        ),
        Variable("CSRF_TRUSTED_ORIGINS", origins, (), "Origins of the back office, if they differ from its host."),
        Variable("REQUIRE_STAFF_MFA", flag, ByEnvironment(False, False, True), "Whether staff need a second factor."),
    ],
    "Processes": [
        Variable(
            "WEB_CONCURRENCY", integer(1, 256), None, "How many workers serve requests.", shown="the number of cores"
        ),
        Variable("THREADS", integer(1, 64), 4, "How many threads each worker has."),
    ],
    "Logs, metrics and traces": [
        Variable(
            "LOG_FORMAT", choice("json", "text"), ByEnvironment("text", "json", "json"),
            "The form of the log: one line per request, without secrets.",
        ),
        Variable(
            "LOG_LEVEL", choice("DEBUG", "INFO", "WARNING", "ERROR"), "INFO", "`DEBUG`, `INFO`, `WARNING` or `ERROR`."
        ),
        Variable(
            "METRICS_PORT", integer(0, 65535), 0,
            "The port where Prometheus reads metrics. Never make it public.",
            shown="none",
        ),
        Variable("METRICS_HOST", listening_address, "127.0.0.1", "The address where Prometheus reads metrics."),
        Variable(
            "OTEL_EXPORTER_OTLP_ENDPOINT", collector_address, "",
            "The OpenTelemetry collector that gets traces. See [Traces](monitoring.md#traces).",
        ),
    ],
}
# fmt: on


GONE = {
    "API_IN_EVENT_LOOP": "is gone. Remove it: the responses are the same.",
    "DATABASE_STANDBY_URL": "is gone. Remove it: no standby is read, and clients retry until Patroni has promoted one.",
    "HSTS_PRELOAD": "is gone. Remove it, and let the proxy replace Strict-Transport-Security by one with preload.",
    "SENTRY_DSN": "is gone. Remove it, and collect the lines of the log with the level ERROR instead.",
}
"""Settings of former releases: what to do if one is still set. One with a secret can be set as `NAME_FILE` too."""


def env() -> Env:
    """Return the environment variables of this process as settings."""
    return Env(os.environ, (variable for variables in GROUPS.values() for variable in variables), GONE)
