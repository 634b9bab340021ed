"""The service's settings, with requests under /v1 in threads too: the other of its two adapters."""

from petstore_site.settings import *  # noqa: F403

API_IN_EVENT_LOOP = False
