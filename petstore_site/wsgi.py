"""The entrance for a WSGI server. The one that ships is `petstore_site.asgi` (docs/decisions/0053)."""

import logging
import os
import sys

from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

from petstore_site.configuration.checks import NO_STATIC_FILES, TAG, lacks_static_files
from petstore_site.serving import metrics

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
os.environ["PETSTORE_SERVING"] = "true"

if lacks_static_files():
    sys.exit(NO_STATIC_FILES)

application = get_wsgi_application()

from rest.request import DjangoRequest  # noqa: E402

application.request_class = DjangoRequest
metrics.count_failures()

for warning in run_checks(tags=[TAG]):
    logging.getLogger(__name__).warning("%s", warning)
