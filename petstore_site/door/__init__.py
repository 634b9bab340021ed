"""The asynchronous door in front of Django (docs/decisions/0053)."""
