"""Log lines: JSON for machines or text for people, each with the request ID, none with a secret."""

import json
import logging
import re
from datetime import UTC, datetime
from select import PIPE_BUF
from threading import Timer
from typing import Any

import orjson

from changes.acting import acting
from petstore_site.apikeys.keys import PREFIXES, SECRET

BEARER = re.compile(r"(?i)(bearer\s+)(?!\w+\*\*\*)\S+")
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
            return _written([{**line, **each} for each in lines])
        line |= {"request_id": acting().request_id or "-", "message": record.getMessage()}
        if repeated := getattr(record, "repeated", 0):
            line |= {"request_id": "-", "repeated": repeated}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _written([line])


def _written(lines: list[dict[str, Any]]) -> str:
    written = "\n".join([_dumps(line) for line in lines])
    if not may_have_secret(written):
        return written
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
            written = [f"{start} {each['request_id']} {on_one_line(each['message'])}" for each in lines]
            return redact("\n".join(written))
        line = f"{start} {acting().request_id or '-'} {on_one_line(record.getMessage())}"
        if repeated := getattr(record, "repeated", 0):
            line += f" (repeated {repeated} times)"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redact(line)


class RepeatsHandler(logging.StreamHandler[Any]):
    """Writes a warning or an error at once, and its repetitions together: one line a second, which counts them.

    What differs only in numbers is the same. Lines of requests are below a warning, so all of them are written, and so
    are gunicorn's: each is about another worker, or another request that has no line.
    """

    SECONDS = 1.0

    def __init__(self) -> None:
        """Write to standard error."""
        super().__init__()
        self._repeated: dict[tuple[Any, ...], logging.LogRecord | None] = {}
        """What was written in the last second, with the last repetition since, which has their number."""
        self._timer = Timer(0, self._write_counts)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or count it. The handler's lock is held."""
        if hasattr(record, "lines"):
            self._write_lines(record)
            return
        if record.levelno < logging.WARNING or record.name == "gunicorn.error":
            super().emit(record)
            return
        kind = _kind(record)
        if kind in self._repeated:
            record.repeated = getattr(self._repeated[kind], "repeated", 0) + 1
            self._repeated[kind] = record
        else:
            self._repeated[kind] = None
            super().emit(record)
        if not self._timer.is_alive():  # nor is it in a process that was forked since
            self._start_timer()

    def _write_lines(self, record: logging.LogRecord) -> None:
        """Write several lines at once, but no more than a pipe takes whole: workers share it."""
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

    def close(self) -> None:
        """Write what was counted: the process ends."""
        self._timer.cancel()
        self._write_counts(last=True)
        super().close()

    def _start_timer(self) -> None:
        self._timer = Timer(self.SECONDS, self._write_counts)
        self._timer.daemon = True
        self._timer.start()

    def _write_counts(self, *, last: bool = False) -> None:
        """Write one line for each kind that was repeated, and forget the others."""
        self.acquire()
        try:
            repeated = {kind: record for kind, record in self._repeated.items() if record}
            for record in repeated.values():
                super().emit(record)
            self._repeated = dict.fromkeys(repeated)
            if repeated and not last:
                self._start_timer()
        finally:
            self.release()


def _kind(record: logging.LogRecord) -> tuple[Any, ...]:
    """Return what records have in common that are about the same: an error is known by where it was raised."""
    error = record.exc_info[1] if record.exc_info else None
    raised = error and error.__traceback__
    while raised and raised.tb_next:
        raised = raised.tb_next
    place = raised and (raised.tb_frame.f_code.co_filename, raised.tb_lineno)
    return record.name, record.levelno, re.sub(r"[0-9]+", "0", record.getMessage()), type(error), place


def redact(text: str) -> str:
    """Return `text` with the secret part of API keys, bearer tokens and address passwords replaced by ***."""
    text = SECRET.sub(r"\1***", text)
    if "bearer" in text.lower():
        text = BEARER.sub(r"\1***", text)
    return ADDRESS_PASSWORD.sub(r"\1***@", text) if "://" in text else text


def may_have_secret(text: str) -> bool:
    """Return whether `redact` may change `text`."""
    return any(mark in text for mark in (*PREFIXES.values(), "://")) or "bearer" in text.lower()


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
        "handlers": {"stderr": {"class": "petstore_site.logs.RepeatsHandler", "formatter": form}},
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
