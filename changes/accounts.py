"""Which account of the operating system runs this process, for what no request and no member of the staff did."""

import getpass
import os


def account() -> str:
    """Return its name, 150 characters at most, or "uid 1000": a container may run as a number that has no name."""
    try:
        return getpass.getuser()[:150]
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
