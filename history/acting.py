"""Who acts now, and in answer to which request; kept for the length of a request, a command or an import."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")
