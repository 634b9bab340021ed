"""Log lines: JSON for machines or text for people, each with the request ID, none with a secret."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

import orjson

from history.acting import acting
from petstore_site.apikeys import keys

BEARER = re.compile(r"(?i)(bearer\s+)(?!\w+\*\*\*)\S+")
ADDRESS_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@/\s]+@")


def redact(text: str) -> str:
    """Return `text` with the secret part of API keys, bearer tokens and address passwords replaced by ***."""
    text = keys.redact(text)
    if "bearer" in text.lower():
        text = BEARER.sub(r"\1***", text)
    return ADDRESS_PASSWORD.sub(r"\1***@", text) if "://" in text else text


class JSONFormatter(logging.Formatter):
    """One JSON object per line: time (RFC 3339, UTC), level, logger, request ID, message, and fields of the request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "request_id": acting().request_id or "-",
            "message": record.getMessage(),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        written = _dumps(line)
        if not _may_have_secret(written):
            return written
        return _dumps({name: redact(value) if isinstance(value, str) else value for name, value in line.items()})


def _dumps(line: dict[str, Any]) -> str:
    try:
        return orjson.dumps(line, default=str).decode()
    except TypeError:  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(line, default=str)


def _may_have_secret(text: str) -> bool:
    return keys.has_prefix(text) or "://" in text or "bearer" in text.lower()


class TextFormatter(logging.Formatter):
    """A readable line: time, level, request ID, message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback below it if there is one."""
        clock = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        line = f"{clock} {record.levelname:<7} {acting().request_id or '-'} {on_one_line(record.getMessage())}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redact(line)


def on_one_line(text: str) -> str:
    """Return `text` with U+FFFD for each character that breaks a line, is invisible or cannot be encoded."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
