"""The service's settings, with changes in blocks of 100 animals: what is true of blocks is seen with fewer animals."""

import sys
from importlib import import_module
from pathlib import Path

from django.apps import AppConfig

from petstore_site.settings import *  # noqa: F403
from petstore_site.settings import INSTALLED_APPS as OURS

BLOCK = 100


class ShortBlocks(AppConfig):
    name = "tests.short_blocks"
    path = str(Path(__file__).parent)

    def ready(self) -> None:
        import_module("changes.plan")  # who imports it from now on gets the short one
        for name, module in sys.modules.items():
            if name.startswith("changes.") and "BLOCK" in vars(module):
                vars(module)["BLOCK"] = BLOCK
        import_module("petstore_site.work").PAUSE = 0.002  # type: ignore[attr-defined]  # or most kills would hit it


INSTALLED_APPS = [*OURS, "tests.short_blocks.ShortBlocks"]
