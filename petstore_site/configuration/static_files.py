"""Whether `collectstatic` has run: without it, no page can be rendered in production."""

from pathlib import Path
from typing import Any

MISSING = "The service cannot start without its static files. Run: manage.py collectstatic --no-input"


def are_missing(settings: Any) -> bool:
    """Return whether this environment needs collected files, and there are none."""
    return settings.HOSTED and not Path(settings.STATIC_ROOT, "staticfiles.json").exists()
