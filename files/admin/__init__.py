"""Files in the back office: imports, their pages, and what is sent as a file."""

from files.admin import imports

__all__ = ["imports"]
