"""The service's settings, with changes in blocks of 100 animals: what is true of blocks is seen with fewer animals."""

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
        for module in ("additions", "bulk", "merging", "plan", "undo"):
            import_module(f"changes.{module}").BLOCK = BLOCK  # type: ignore[attr-defined]
        import_module("petstore_site.work").PAUSE = 0.002  # type: ignore[attr-defined]  # or most kills would hit it


INSTALLED_APPS = [*OURS, "tests.short_blocks.ShortBlocks"]
