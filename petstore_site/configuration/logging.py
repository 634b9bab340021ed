"""What is logged."""

from typing import Any


def logging_of(form: str, level: str) -> dict[str, Any]:
    """Return Django's setting `LOGGING` for a form, `json` or `text`, and the lowest level."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {"()": "petstore_site.requests.logs.JSONFormatter"},
            "text": {"()": "petstore_site.requests.logs.TextFormatter"},
        },
        "handlers": {"stderr": {"class": "petstore_site.requests.logs.RepeatsHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # petstore.requests logs one line per request; these would repeat it.
            "django": {"level": level},
            "django.server": {"level": "WARNING", "propagate": True},
            "django.request": {"level": "ERROR"},
            "django.security": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "CRITICAL"},  # scanners ask for any host
        },
    }
