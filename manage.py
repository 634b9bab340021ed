#!/usr/bin/env python3
"""The operator's entrance: `manage.py COMMAND`."""

import gc
import os
import sys
from _signal import SIGINT, default_int_handler, signal  # type: ignore[import-not-found]  # `signal` loads more

signal(SIGINT, lambda *_: os.write(2, b"Stopped.\n") and os._exit(130))  # while modules load
gc.disable()  # while modules load it finds no garbage, and takes a seventh of the start; `Utility` enables it

from django.db import Error as AnyDatabaseError

from commands.exits import Exit
from commands.output import end, keep_descriptors, printed
from commands.utility import Utility
from petstore_site.configuration.database import sentence

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
    keep_descriptors()
    try:
        signal(SIGINT, default_int_handler)
        with printed():
            Utility(sys.argv).execute()
    except AnyDatabaseError as error:
        end(sentence(error), Exit.FAILED)
    except KeyboardInterrupt:
        end("Stopped.", Exit.STOPPED)
    except SystemExit as stop:
        if not isinstance(stop.code, str):
            raise
        end(stop.code, Exit.FAILED)  # mistakes in the settings
