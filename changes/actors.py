"""Who acts where no request says it. Knows nothing of Django, so that `manage.py` can name a command first of all."""

from contextvars import ContextVar

actor: ContextVar[str] = ContextVar("actor", default="")
"""In words that stay, such as "command rotate_api_keys"; history writes it beside what is changed meanwhile."""
