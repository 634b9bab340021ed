"""Exit with 0 if this container's service is alive: the health check of the Dockerfile, which has no curl."""
# ruff: noqa: INP001 - a program of its own

import http.client
import os
import sys

connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=1.5)
try:
    connection.request("GET", "/livez")
    sys.exit(connection.getresponse().status != 200)
except OSError:
    sys.exit(1)
