"""gunicorn for `make run`: Ctrl-C while it loads ends it without a traceback."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)

from gunicorn.app.wsgiapp import run  # noqa: E402 - this takes long

run()
