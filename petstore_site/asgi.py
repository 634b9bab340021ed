"""The entrance for an ASGI server: `gunicorn --config deploy/gunicorn.conf.py`."""

from django.conf import settings
from django.db import connection

from petstore_site import wsgi
from petstore_site.door.door import Door

# Plain reads of PostgreSQL wait in the event loop, those of SQLite in a thread.
behind = wsgi.django_application if connection.vendor == "postgresql" else wsgi.application
application = Door(behind, settings.THREADS)
