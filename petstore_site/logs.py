"""Log lines: JSON for machines or text for people, each with the request ID, none with a secret."""

import json
import logging
import re
from datetime import UTC, datetime
from select import PIPE_BUF
from typing import Any

import orjson

from history.acting import acting
from petstore_site.apikeys.keys import PREFIXES, SECRET

BEARER = re.compile(r"(?i)(bearer\s+)(?!\w+\*\*\*)\S+")
ENCODED = re.compile("%(?:25)*(2[1-9A-Fa-f]|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e])")  # once or more often, what can be seen
ADDRESS_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@/\s]+@")


class JSONFormatter(logging.Formatter):
    """One JSON object per line: time (RFC 3339, UTC), level, logger, request ID, message, and fields of the request."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        if lines := getattr(record, "lines", None):
            return _written([{**line, **fields} for fields in lines])
        line |= {"request_id": acting().request_id or "-", "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _written([line])


def _written(lines: list[dict[str, Any]]) -> str:
    written = "\n".join([_dumps(line) for line in lines])
    has_mark = "%" in written or "://" in written or any(prefix in written for prefix in PREFIXES.values())
    if not has_mark and "bearer" not in written.lower():
        return written  # `redact` would change nothing
    return "\n".join(
        [
            _dumps({name: redact(value) if isinstance(value, str) else value for name, value in line.items()})
            for line in lines
        ]
    )


def _dumps(line: dict[str, Any]) -> str:
    try:
        return orjson.dumps(line, default=str).decode()
    except TypeError:  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """A readable line: time, level, request ID, message."""

    def format(self, record: logging.LogRecord) -> str:
        start = f"{datetime.fromtimestamp(record.created, UTC):%H:%M:%S} {record.levelname:<7}"
        if lines := getattr(record, "lines", None):
            written = [f"{start} {fields['request_id']} {on_one_line(fields['message'])}" for fields in lines]
            return redact("\n".join(written))
        line = f"{start} {acting().request_id or '-'} {on_one_line(record.getMessage())}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redact(line)


class LinesHandler(logging.StreamHandler[Any]):
    """Writes the lines of several requests at once, but no more than a pipe takes whole: workers share it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, in blocks if it has lines. The handler's lock is held."""
        if not hasattr(record, "lines"):
            super().emit(record)
            return
        try:
            block = ""
            for line in self.format(record).split("\n"):
                if block and len((block + line).encode()) >= PIPE_BUF:
                    self.stream.write(block)
                    block = ""
                block += f"{line}\n"
            self.stream.write(block)
            self.flush()
        except Exception:  # noqa: BLE001 - as the class above does
            self.handleError(record)


def redact(text: str) -> str:
    """Return `text` with the secret part of API keys, bearer tokens and address passwords replaced by ***."""
    text = _without_passwords(text)  # first: an encoded one may have marks of an address in it
    if "%" in text and SECRET.search(decoded := ENCODED.sub(lambda code: chr(int(code[1], 16)), text)):
        text = decoded
    text = SECRET.sub(r"\1***", text)
    if "bearer" in text.lower():
        text = BEARER.sub(r"\1***", text)
    return _without_passwords(text)


def _without_passwords(text: str) -> str:
    return ADDRESS_PASSWORD.sub(r"\1***@", text) if "://" in text else text


def on_one_line(text: str) -> str:
    """Return `text` with U+FFFD for each character that breaks a line, is invisible or cannot be encoded."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def logging_of(form: str, level: str) -> dict[str, Any]:
    """Return the setting `LOGGING` for a form, `json` or `text`, and the lowest level. gunicorn gets it as JSON."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {"()": "petstore_site.logs.JSONFormatter"},
            "text": {"()": "petstore_site.logs.TextFormatter"},
        },
        "handlers": {"stderr": {"class": "petstore_site.logs.LinesHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # petstore.requests logs one line per request; these would repeat it.
            "django": {"level": level},
            "django.server": {"level": "WARNING", "propagate": True},
            "django.request": {"level": "ERROR"},
            "django.security": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "CRITICAL"},  # scanners ask for any host
        },
    }
