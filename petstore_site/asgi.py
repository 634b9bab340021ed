"""The entrance for an ASGI server: `gunicorn --config deploy/gunicorn.conf.py`."""

import logging

from django.conf import settings
from django.db import connection

from petstore_site import wsgi
from petstore_site.door.door import Door

# Plain reads of PostgreSQL wait in the event loop, those of SQLite in a thread.
behind = wsgi.django_application if connection.vendor == "postgresql" else wsgi.application
application = Door(behind, settings.THREADS)

# No formatter of ours shows these, and finding them takes long (Python's Logging HOWTO, Optimization).
logging._srcfile = None  # noqa: SLF001
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
logging.logAsyncioTasks = False  # type: ignore[attr-defined]  # Python 3.12 has it
