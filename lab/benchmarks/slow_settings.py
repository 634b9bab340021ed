"""The service's settings, with a slow page."""

from petstore_site.settings import *  # noqa: F403

ROOT_URLCONF = "lab.benchmarks.slow_pages"
