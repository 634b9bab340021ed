"""A pytest plugin, loaded before the settings: tests run with the pool and the deadlines that requests have."""

import os

os.environ["PETSTORE_SERVING"] = "true"
