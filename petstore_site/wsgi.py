"""The entrance for a WSGI server. The one that ships is `petstore_site.asgi` (docs/decisions/0053)."""

import logging
import os
import sys
from pathlib import Path

from django.conf import settings
from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

from petstore_site.configuration.checks import TAG

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
os.environ["PETSTORE_SERVING"] = "true"

manifest = Path(settings.STATIC_ROOT or "", "staticfiles.json")
if settings.HOSTED and not manifest.exists():
    sys.exit("The service cannot start without its static files. Run: manage.py collectstatic --no-input")

application = get_wsgi_application()

from petstore_site.request import Request  # noqa: E402 - it needs the models, which are loaded now

application.request_class = Request

for warning in run_checks(tags=[TAG]):
    logging.getLogger(__name__).warning("%s", warning)
