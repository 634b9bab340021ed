"""`manage.py work`: gunicorn runs it beside its workers (deploy/gunicorn.conf.py)."""

from contextlib import suppress
from typing import Any

from django.core.management.base import CommandParser

from commands.base import StoreCommand
from files import queue
from files.stopping import stoppable
from petstore_site.work import WorkLoop


class Command(StoreCommand):
    help = "Do the long work of the back office. Run this only where no gunicorn of ours runs, which does it by itself."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--file", type=int, metavar="UPLOAD", help="Check or import only this file, which waits.")

    def handle(self, **options: Any) -> None:
        """Work until a signal; a file until it is done, or a signal stops it."""
        if options["file"] is None:
            return WorkLoop().run()
        with suppress(KeyboardInterrupt), stoppable(with_parent=True):
            return queue.do(options["file"])
