"""The entrance for a WSGI server: `gunicorn --config deploy/gunicorn.conf.py`."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

from petstore_site.configuration.checks import TAG

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
os.environ["PETSTORE_SERVING"] = "true"

manifest = Path(settings.STATIC_ROOT or "", "staticfiles.json")
if settings.HOSTED and not manifest.exists():
    sys.exit("The service cannot start without its static files. Run: manage.py collectstatic --no-input")


class Request(WSGIRequest):
    """A request whose Content-Type is only a header: it decides no charset, and a malformed one is none."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (LookupError, ValueError):
            self.content_type, self.content_params = "", {}


django_application = get_wsgi_application()
django_application.request_class = Request

from petstore_site.plain_reads import PlainReads  # noqa: E402 - it needs the models, which are loaded now

application = PlainReads(django_application) if settings.PLAIN_READS else django_application

for warning in run_checks(tags=[TAG]):
    logging.getLogger(__name__).warning("%s", warning)
