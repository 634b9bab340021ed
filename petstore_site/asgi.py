"""The entrance for an ASGI server: `gunicorn --config deploy/gunicorn.conf.py`."""

import logging

from django.conf import settings

from petstore_site import wsgi
from petstore_site.serving.adapter import Adapter
from petstore_site.serving.door import driver

if settings.TRACES_URL:
    from petstore_site.serving.tracing import TracedDoor as Door  # its packages are an extra
else:
    from petstore_site.serving.door import Door  # type: ignore[assignment]

application = Door(wsgi.application, settings.THREADS, Adapter(driver(settings.THREADS)))

# No formatter of ours shows these, and finding them takes long (Python's Logging HOWTO, Optimization).
logging._srcfile = None  # noqa: SLF001
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
logging.logAsyncioTasks = False  # type: ignore[attr-defined]  # Python 3.12 has it
