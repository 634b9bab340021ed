"""The addresses in environment variables. Each function raises `ValueError` with a sentence that follows the name."""

from importlib.util import find_spec
from urllib.parse import SplitResult, urlsplit


def split(text: str, sentence: str) -> SplitResult:
    """Split an address with a host; raises `ValueError` with our sentence, since urllib's may repeat a password."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(sentence) from None
    if not has_host:
        raise ValueError(sentence)
    return parts


def origin(text: str) -> str:
    """Return an origin (RFC 6454), as it was given."""
    sentence = "must be origins such as https://shop.example, separated by commas."
    parts = split(text, sentence)
    if parts.scheme not in {"http", "https"} or f"{parts.scheme}://{parts.netloc}" != text:
        raise ValueError(sentence)
    return text


def origins(text: str) -> list[str]:
    """Return origins that are separated by commas."""
    return [origin(item.strip()) for item in text.split(",")]


def api_address(text: str) -> str:
    """Return the address of an API, as it was given."""
    sentence = "must be an http or https address whose path ends in /v1."
    parts = split(text, sentence)
    if parts.scheme not in {"http", "https"} or not parts.path.endswith("/v1"):
        raise ValueError(sentence)
    return text


def collector_address(text: str) -> str:
    """Return the address of a collector of traces, as it was given."""
    sentence = "must be an http or https address, such as http://collector:4318."
    if split(text, sentence).scheme not in {"http", "https"}:
        raise ValueError(sentence)
    _need("opentelemetry", "opentelemetry")
    return text


def sentry_address(text: str) -> str:
    """Return the address of a project in Sentry, as it was given."""
    sentence = "must be https://KEY@HOST/PROJECT, as Sentry shows it."
    parts = split(text, sentence)
    if parts.scheme not in {"http", "https"} or not parts.username or not parts.path[-1:].isdecimal():
        raise ValueError(sentence)
    _need("sentry_sdk", "sentry")
    return text


def _need(module: str, lock: str) -> None:
    if find_spec(module) is None:
        sentence = f"needs more packages: pip install --require-hashes -r requirements/{lock}.txt"
        raise ValueError(sentence)
