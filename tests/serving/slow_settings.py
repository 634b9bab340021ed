"""The service's settings, with what takes longer than a request may."""

from petstore_site.settings import *  # noqa: F403

ROOT_URLCONF = "tests.serving.slow_addresses"
