"""The entrance for an ASGI server: `gunicorn --config deploy/gunicorn.conf.py`."""

import logging
from typing import Any

from django.conf import settings
from django.db import connection

from petstore_site import wsgi
from petstore_site.serving.adapter import Adapter
from petstore_site.serving.threads import OnSQLite

if settings.TRACES_URL:
    from petstore_site.serving.tracing import TracedDoor as Door  # its packages are an extra
else:
    from petstore_site.serving.door import Door  # type: ignore[assignment]


def driver(threads: int) -> Any:
    """Return what runs the statements of the event loop on the database that is set."""
    if connection.vendor != "postgresql":
        return OnSQLite(threads)
    from petstore_site.serving.postgresql import OnPostgreSQL  # noqa: PLC0415 - with SQLite, psycopg is never loaded

    return OnPostgreSQL(threads)


application = Door(wsgi.application, settings.THREADS, Adapter(driver(settings.THREADS)))

# No formatter of ours shows these, and finding them takes long (Python's Logging HOWTO, Optimization).
logging._srcfile = None  # noqa: SLF001
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
logging.logAsyncioTasks = False  # type: ignore[attr-defined]  # Python 3.12 has it
