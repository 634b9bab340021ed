"""A list: its parameters, its filters, its cursors, its pages with their links, and one of its rows.

Newest first, by keyset on the ID (docs/decisions/0002): no OFFSET, no COUNT, one row more than `limit` shows whether
there is more. The cursor is the last row's ID, signed for its list and filters. Parameters are read strictly, since a
filter with a typo must not return an empty list (docs/decisions/0001).
"""

import hmac
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.core.signing import BadSignature, Signer, b64_decode, b64_encode
from django.http import QueryDict
from django.utils.encoding import force_bytes

from database.statements import Statements, Steps, vendor
from rest.errors import APIError, ErrorCode
from rest.request import Request, Result

DEFAULT_LIMIT = 20
MOST = 100

INT64_MAX = 2**63 - 1

PLAIN_QUERY = re.compile(r"[A-Za-z0-9._~=&-]{0,400}")
"""A query without escapes, and too short for too many parameters."""

CURSOR_OF_ID = re.compile(r"[A-Za-z0-9_-]{2,26}\.[A-Za-z0-9_-]{43}")
"""What `CursorSigner` writes: an ID in Base64, and its signature."""

DELAYED_SINCE = "Changes-Delayed-Since"
"""The header that says since when a transaction holds a feed up."""


def parse_id(text: str) -> int | None:
    """Return the positive int64 that a path or a query writes, or None."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", text) and int(text) <= INT64_MAX:
        return int(text)
    return None


def _parameters(query: str) -> dict[str, list[str]]:
    """Return the values of each parameter of a query.

    Raises Django's `SuspiciousOperation` for more parameters than `settings.DATA_UPLOAD_MAX_NUMBER_FIELDS`.
    """
    if not PLAIN_QUERY.fullmatch(query):
        return dict(QueryDict(query.encode("latin-1"), encoding="utf-8").lists())
    parameters: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if pair:
            name, _, value = pair.partition("=")
            parameters.setdefault(name, []).append(value)
    return parameters


# --- Filters ---------------------------------------------------------------------------------------------------------


class Filter(NamedTuple):
    """A query parameter that chooses rows of a list."""

    read: Callable[[str], Any]
    """Returns the value; raises `ValueError` with a sentence that follows the parameter's name."""
    schema: Mapping[str, Any]
    """For the API description."""
    description: str


Filters = Mapping[str, Filter]
"""By the names of their parameters."""


def choice(choices: type[Enum], description: str) -> Filter:
    """Return a filter by exactly one of the choices."""
    allowed = [item.value for item in choices]

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}.")
        return text

    return Filter(read, {"$ref": f"#/components/schemas/{choices.__name__}"}, description)


def identifier(description: str) -> Filter:
    """Return a filter by an ID."""

    def read(text: str) -> int:
        if (pk := parse_id(text)) is None:
            raise ValueError(f"must be a whole number from 1 to {INT64_MAX}.")
        return pk

    return Filter(read, {"type": "integer", "format": "int64", "minimum": 1, "maximum": INT64_MAX}, description)


def _limit(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]*", text) or len(text) > len(str(MOST)) or int(text) > MOST:
        raise ValueError(f"must be a whole number from 1 to {MOST}.")
    return int(text)


# --- Cursors ---------------------------------------------------------------------------------------------------------


class CursorSigner(Signer):
    """Django's `Signer`, which keeps the key that it derives: signing took a tenth of a list."""

    def write(self, pk: int) -> str:
        """Return the cursor of the page after this ID."""
        return self.sign(b64_encode(b"%d" % pk).decode())

    def read(self, cursor: str) -> int:
        """Return the highest ID that the page can have; raises `BadSignature`."""
        return int(b64_decode(self.unsign(cursor).encode())) - 1

    def signature(self, value: str | bytes, key: str | bytes | None = None) -> str:
        """Return the signature that Django's class returns."""
        return b64_encode(hmac.digest(_derived(self.salt, key or self.key), force_bytes(value), "sha256")).decode()


@lru_cache(maxsize=256)
def _derived(salt: str | bytes, key: str | bytes) -> bytes:
    return sha256(force_bytes(salt) + b"signer" + force_bytes(key)).digest()


@lru_cache(maxsize=64)
def _signer(path: str, chosen: tuple[tuple[str, Any], ...], key: str, fallbacks: tuple[str, ...]) -> CursorSigner:
    """Return what signs and checks the cursors of a list with these filters."""
    return CursorSigner(key=key, fallback_keys=list(fallbacks), sep=".", salt=f"{path}?{urlencode(chosen)}")


@lru_cache(maxsize=64)
def _cipher(path: str, chosen: tuple[tuple[str, Any], ...], key: str, fallbacks: tuple[str, ...]) -> Any:
    """Return what encrypts and checks the cursors of a feed."""
    from rest.feed_cursors import CursorCipher  # noqa: PLC0415 - commands read this module too

    return CursorCipher(path, (key, *fallbacks), _signer(path, chosen, key, fallbacks))


# --- Lists -----------------------------------------------------------------------------------------------------------


class ListParameters(NamedTuple):
    """Which page of a list a request asks for."""

    chosen: dict[str, Any]
    """Filter → value."""
    limit: int
    sent: dict[str, str]
    """`limit` as it was sent, if it was."""
    place: Any
    """What the cursor says: of a list, the highest ID that the page can have."""
    cursors: Any

    def link(self, address: str, last: Any) -> str:
        """Return the `Link` (RFC 8288) to the page that follows this ID, or this place of a feed."""
        fixed = _fixed((*self.sent.items(), *self.chosen.items()))
        return f'<{address}?{fixed}cursor={self.cursors.write(last)}>; rel="next"'


@lru_cache(maxsize=256)
def _fixed(parameters: tuple[tuple[str, Any], ...]) -> str:
    """Return the part of a query before its cursor, which needs no escapes."""
    return f"{urlencode(parameters)}&" if parameters else ""


class Listing:
    """A list: its statements, and its filters."""

    headers: ClassVar[Mapping[str, str]] = {"Link": "Next"}
    """The headers of its pages: name as sent → name in the description."""

    cursors_of: Callable[..., Any] = staticmethod(_signer)
    """Returns what writes and reads its cursors."""

    first: Any = INT64_MAX
    """The place of a page without a cursor."""

    def __init__(self, statements: Statements, filters: Filters | None = None) -> None:
        self.statements = statements
        self.filters: Filters = filters or {}
        self._readers: Mapping[str, Callable[[str], Any]] = {
            "limit": _limit,
            **{name: one_filter.read for name, one_filter in self.filters.items()},
            "cursor": str,
        }

    def read(self, request: Request) -> ListParameters:
        """Read the query of a request; raises one `APIError` that names every wrong parameter.

        Parameters that the list does not have are ignored.
        """
        sent = _parameters(request.query)
        values: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for name in self._readers:
            if name in sent:
                self._read(name, sent[name], values, errors)
        chosen = {name: values[name] for name in self.filters if name in values}
        keys = settings.SECRET_KEY, tuple(settings.SECRET_KEY_FALLBACKS)
        cursors = self.cursors_of(request.path, tuple(chosen.items()), *keys)
        place = self.first
        if "cursor" in values:
            place = self._place(values["cursor"], cursors, errors)
        if errors:
            raise APIError(ErrorCode.INVALID_PARAMETER, " ".join(errors.values()))
        limit_sent = {"limit": sent["limit"][0]} if "limit" in values else {}
        return ListParameters(chosen, values.get("limit", DEFAULT_LIMIT), limit_sent, place, cursors)

    def _read(self, name: str, sent: list[str], values: dict[str, Any], errors: dict[str, str]) -> None:
        if len(sent) > 1:
            errors[name] = f"{name} must be given only once."
            return
        try:
            values[name] = self._readers[name](sent[0])
        except ValueError as error:
            errors[name] = f"{name} {error}"

    def _place(self, cursor: str, cursors: Any, errors: dict[str, str]) -> Any:
        """Return the place that a cursor says; raises `APIError` if the cursor is the only thing that is wrong.

        A wrong filter leaves open which list the cursor must be of. Then only its form is checked.
        """
        if self.filters.keys() & errors.keys() and CURSOR_OF_ID.fullmatch(cursor):
            return None
        try:
            return cursors.read(cursor)
        except BadSignature:
            if not errors:
                raise APIError(ErrorCode.INVALID_CURSOR) from None
            errors["cursor"] = "cursor is damaged or belongs to another list."
            return None


class Feed(Listing):
    """A list that never ends: every page has a next one, and a cursor says more than an ID, such as the limit."""

    headers: ClassVar[Mapping[str, str]] = {"Link": "NextChanges", DELAYED_SINCE: DELAYED_SINCE}
    cursors_of = staticmethod(_cipher)
    first = None

    def __init__(self) -> None:
        self.filters = {}
        self._readers = {"limit": _limit, "cursor": str}

    def read(self, request: Request) -> ListParameters:
        """Read the query as that of a list. A limit that is sent counts more than that of the cursor."""
        wanted = super().read(request)
        limit, *place = wanted.place or [wanted.limit]
        limit = wanted.limit if wanted.sent else limit
        return wanted._replace(limit=limit, sent={}, place=place or None)


def page(request: Request, listing: Listing) -> Steps[Result]:
    """Return the page of a list that the query asks for, as a bare array, with the link to the next one."""
    wanted = listing.read(request)
    rows = yield from listing.statements.page(vendor(), wanted.chosen, wanted.place, wanted.limit + 1)
    shown = list(map(listing.statements.shown, rows[: wanted.limit]))
    if len(rows) <= wanted.limit:
        return Result(shown)
    return Result(shown, headers={"Link": wanted.link(request.url, rows[wanted.limit - 1][0])})


def one(request: Request, listing: Listing, *, missing: ErrorCode) -> Steps[Result]:
    """Return the row of a list whose ID the path has; raises `APIError` with the code `missing`.

    `0`, `01`, `1.0` and `abc` are never IDs, so they give the same error as an ID that does not exist.
    """
    pk = parse_id(request.argument)
    rows = (yield from listing.statements.one(pk)) if pk else []
    if not rows:
        raise APIError(missing)
    return Result(listing.statements.shown(rows[0]))
