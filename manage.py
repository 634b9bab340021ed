#!/usr/bin/env python3
"""The operator's entrance: `manage.py COMMAND`."""

import gc
import os
import sys
from _signal import SIGINT, default_int_handler, signal  # type: ignore[import-not-found]  # `signal` loads more

signal(SIGINT, lambda *_: os.write(2, b"Stopped.\n") and os._exit(130))  # while modules load
gc.disable()  # it takes a seventh of the start and finds nothing, until `PetstoreSiteConfig` enables it

from django.core.management import execute_from_command_line
from django.db import Error as AnyDatabaseError

from commands.base import end, silence
from commands.exits import Exit
from petstore_site.configuration.database import sentence

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
    if sys.stdout is None:  # the shell closed it (`>&-`)
        sys.exit("Standard output cannot be written: Bad file descriptor.")
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # for names of files
    try:
        signal(SIGINT, default_int_handler)
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except AnyDatabaseError as error:
        end(sentence(error), Exit.FAILED)
    except BrokenPipeError:
        silence(sys.stdout.fileno())
        sys.exit(Exit.BROKEN_PIPE)
    except OSError:
        try:
            sys.stdout.write("\n")
            sys.stdout.flush()  # fails again, if this was what failed
        except OSError as error:
            silence(sys.stdout.fileno())
            end(f"Standard output cannot be written: {error.strerror}.", Exit.FAILED)
        raise
    except KeyboardInterrupt:
        end("Stopped.", Exit.STOPPED)
    except SystemExit as stop:
        if not isinstance(stop.code, str):
            raise
        end(stop.code, Exit.FAILED)  # mistakes in the settings
