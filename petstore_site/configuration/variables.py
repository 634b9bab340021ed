"""Every environment variable that the service reads, for people: docs/settings.md is written from this list.

`make settings` writes the page. `tests/test_settings_page.py` compares the list with what the code reads.
"""

import sys
from typing import NamedTuple


class Variable(NamedTuple):
    """One setting. `default` and `meaning` are Markdown, as they are in the table; links start in `docs/`."""

    name: str
    default: str
    meaning: str
    is_secret: bool = False
    """Whether `NAME_FILE` can name a file with the value."""


GROUPS: dict[str, list[Variable]] = {
    "Where the service runs": [
        Variable(
            "PETSTORE_ENVIRONMENT",
            "`development`",
            "`production`, `staging` or `development`. It sets the prefix of keys, the colours of the back office, and "
            "which settings are required.",
        ),
        Variable(
            "SECRET_KEY",
            "generated in development",
            "Signs sessions and cursors: 50 or more random characters.",
            is_secret=True,
        ),
        Variable("SECRET_KEY_FALLBACKS", "none", "Older keys that are still accepted, separated by commas."),
        Variable(
            "ALLOWED_HOSTS", "this machine, in development", "The host names of the service, separated by commas."
        ),
        Variable("HOST", "`127.0.0.1`", "The address that gunicorn listens on."),
        Variable("PORT", "`8000`", "The port that gunicorn listens on."),
        Variable(
            "PRODUCTION_URL",
            "`https://petstore.example/v1`",
            "The address of the API in production. It ends in `/v1`. With more before that, the service lives "
            "[under a path](nginx.md#under-a-path).",
        ),
        Variable(
            "STAGING_URL",
            "`https://staging.petstore.example/v1`",
            "The address of the API in staging, as `PRODUCTION_URL`.",
        ),
        Variable(
            "STATIC_ROOT",
            "`staticfiles`",
            "The folder that `collectstatic` writes the static files to, and the service reads them from.",
        ),
    ],
    "Data": [
        Variable(
            "DATABASE_URL",
            "`sqlite:///var/petstore.sqlite3` in development",
            "`postgres://USER:PASSWORD@HOST:5432/NAME[?sslmode=…]`, `sqlite:///relative/path` or "
            "`sqlite:////absolute/path`.",
            is_secret=True,
        ),
        Variable(
            "DATABASE_STANDBY_URL",
            "none",
            "`postgres://USER:PASSWORD@HOST:5432,HOST:5432,HOST:5432/NAME`: the servers that the API reads from while "
            "the primary is lost. Name the only standby, or all servers that can be the primary. See "
            "[Reads while the primary is lost](high-availability.md#reads-while-the-primary-is-lost).",
            is_secret=True,
        ),
        Variable(
            "DATABASE_BEHIND_PGBOUNCER",
            "`false`",
            "`true` for PgBouncer in transaction mode. See [PgBouncer](pgbouncer.md).",
        ),
        Variable(
            "CACHE_URL",
            "`memory://`",
            "`redis://[:PASSWORD@]HOST:6379/0` (or `rediss`, `valkey`, `valkeys`), or "
            "`redis+sentinel://[:PASSWORD@]HOST:26379,HOST:26379/SERVICE`. Counts rate limits and failed sign-ins "
            "across all processes.",
            is_secret=True,
        ),
    ],
    "The API": [
        Variable("RATE_LIMIT", "none", "The rate limit of keys without their own: `N/s`, `N/min`, `N/h` or `N/day`."),
        Variable("CORS_ALLOWED_ORIGINS", "none", "Origins of web pages that can call the API, separated by commas."),
        Variable(
            "API_IN_EVENT_LOOP",
            "`true` without traces",
            "Whether requests under `/v1` skip Django. The responses are the same.",
        ),
        Variable("PLAIN_READS", "none", "The name of `API_IN_EVENT_LOOP` before 1.1.0. It still works."),
    ],
    "Pages and sign-in": [
        Variable(
            "BEHIND_TLS_PROXY",
            "`true`, in development `false`",
            "Whether to trust the proxy's `X-Forwarded-Proto`, and the last address in its `X-Forwarded-For`.",
        ),
        Variable(
            "HSTS_PRELOAD",
            "`false`",
            "`true` adds `preload` to `Strict-Transport-Security`. Set it before you submit the domain to browsers.",
        ),
        Variable("CSRF_TRUSTED_ORIGINS", "none", "Origins of the back office, if they differ from its host."),
        Variable("REQUIRE_STAFF_MFA", "`true` in production", "Whether staff need a second factor."),
    ],
    "Processes": [
        Variable("WEB_CONCURRENCY", "the number of cores", "How many workers gunicorn runs."),
        Variable("THREADS", "`4`", "How many threads each worker has."),
        Variable(
            "SPARE_WORKER",
            "`true`",
            "Whether one more worker is loaded and waits. It replaces a worker that ends.",
        ),
    ],
    "Logs, metrics and traces": [
        Variable(
            "LOG_FORMAT", "`json`, in development `text`", "The form of the log: one line per request, without secrets."
        ),
        Variable("LOG_LEVEL", "`INFO`", "`DEBUG`, `INFO`, `WARNING` or `ERROR`."),
        Variable("METRICS_PORT", "none", "The port where Prometheus reads metrics. Never make it public."),
        Variable("METRICS_HOST", "`127.0.0.1`", "The address where Prometheus reads metrics."),
        Variable(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "none",
            "The OpenTelemetry collector that gets traces. See [Traces](monitoring.md#traces).",
        ),
        Variable(
            "SENTRY_DSN",
            "none",
            "Where errors are reported, without values. See [Error reports](monitoring.md#error-reports).",
            is_secret=True,
        ),
    ],
}

HEAD = """\
# Settings

All settings are environment variables. If one is wrong, the service doesn't start, and it lists all mistakes. In
production and staging, `SECRET_KEY`, `ALLOWED_HOSTS` and `DATABASE_URL` are required.

For a setting marked ƒ, you can set `NAME_FILE` instead of `NAME`: the path of a file with the value.

<!-- Written by `make settings` from petstore_site/configuration/variables.py. Change that file. -->
"""


def page() -> str:
    """Return docs/settings.md."""
    return HEAD + "".join(_table(title, variables) for title, variables in GROUPS.items())


def _table(title: str, variables: list[Variable]) -> str:
    rows = [f"| `{one.name}`{' ƒ' if one.is_secret else ''} | {one.default} | {one.meaning} |" for one in variables]
    return "\n".join([f"\n## {title}\n", "| variable | default | meaning |", "| --- | --- | --- |", *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
