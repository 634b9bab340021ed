"""The addresses in environment variables. Each function raises `ValueError` with a sentence that follows the name."""

import re
from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from petstore_site.configuration.env import items

API_PATH = re.compile(r"(?:/[A-Za-z0-9](?:[A-Za-z0-9._~-]*[A-Za-z0-9])?)*/v1")

HOST = re.compile(r"\*|\.?[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]")

ORIGIN = re.compile(r"https?://[a-z0-9_.:*\[\]-]+")
"""With the ASCII form of its host (RFC 6454)."""

OWN_PATHS = {
    ".well-known", "admin", "docs", "favicon.ico", "livez", "openapi.json", "readyz", "robots.txt",
    "static", "v1",
}  # fmt: skip
"""The first part of each path of the service. If the service lived under one, `mount` could not distinguish them."""


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


def origins(text: str) -> list[str]:
    """Return origins that are separated by commas, in lower case as browsers send them. A host can begin with `*.`."""
    sentence = "must be origins such as https://shop.example, separated by commas."
    found = [item.strip().lower() for item in text.split(",")]
    for item in found:
        if not ORIGIN.fullmatch(item):
            raise ValueError(sentence)
        split(item, sentence)
    return found


def exact_origins(text: str) -> list[str]:
    """Return the same, each with its whole host."""
    if "*" in text:
        raise ValueError("must be whole origins such as https://shop.example, without *, separated by commas.")
    return origins(text)


def listening_address(text: str) -> str:
    """Return the address that a server listens on."""
    if re.fullmatch(r"[A-Za-z0-9_.-]+", text):
        return text
    try:
        return str(ip_address(text))
    except ValueError:
        sentence = "must be an IP address such as 0.0.0.0 or ::1, or a host name, without scheme, brackets and port."
        raise ValueError(sentence) from None


def hosts(text: str) -> list[str]:
    """Return the names of hosts that are separated by commas, as `ALLOWED_HOSTS` has them."""
    names = items(text)
    if not names or not all(HOST.fullmatch(name) for name in names):
        raise ValueError("must be host names such as petstore.example, without scheme and port, separated by commas.")
    return names


def api_address(text: str) -> str:
    """Return the address of an API, as it was given: a client appends a path to it."""
    sentence = (
        "must be an http or https address such as https://petstore.example/v1 or https://shop.example/animals/v1."
    )
    parts = split(text, sentence)
    has_more = "@" in parts.netloc or not text.endswith(f"{parts.netloc}{parts.path}")
    if parts.scheme not in {"http", "https"} or has_more or not API_PATH.fullmatch(parts.path):
        raise ValueError(sentence)
    if taken := [part for part in parts.path.split("/")[1:-1] if part in OWN_PATHS]:
        sentence = f"must not have {taken[0]} in its path before /v1: the service has an address of this name."
        raise ValueError(sentence)
    return text


def base_path(address: str) -> str:
    """Return the path under which the service lives, such as `/animals`, from the address of its API."""
    return urlsplit(address).path.removesuffix("/v1")


def cache_address(text: str) -> str:
    """Return the address of the cache; raises `ValueError` with a sentence that follows the name."""
    if text == "memory://":
        return text
    sentence = "must be memory://, redis://[:PASSWORD@]HOST:6379/0, or the same with rediss, valkey or valkeys."
    if text.startswith("redis+sentinel:"):
        sentence = "cannot name Sentinels any more. Name a proxy that leads to the master (docs/databases.md#redis)."
        raise ValueError(sentence)
    parts = split(text, sentence)
    known = parts.scheme in {"redis", "rediss", "valkey", "valkeys"}
    if not known or parts.query or not re.fullmatch(r"(/[0-9]*)?", parts.path):
        raise ValueError(sentence)
    return text.replace("valkey", "redis", 1) if text.startswith("valkey") else text


def collector_address(text: str) -> str:
    """Return the address of a collector of traces, as it was given."""
    sentence = "must be an http or https address, such as http://collector:4318."
    if split(text, sentence).scheme not in {"http", "https"}:
        raise ValueError(sentence)
    if find_spec("opentelemetry") is None:
        sentence = "needs more packages: pip install --require-hashes -r requirements/opentelemetry.txt"
        raise ValueError(sentence)
    return text


def contact_address(text: str) -> str:
    """Return the address of people, as it was given (RFC 9116)."""
    if not re.fullmatch(r"mailto:[!-~]+@[!-~]+|https://[!-~]+", text):
        sentence = "must be an address such as mailto:security@petstore.example, or of a page with https."
        raise ValueError(sentence)
    return text
