"""Retries what is safe to repeat, and raises every other error."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypedDict, cast

import httpx

from petstore_client.configuration import headers
from petstore_client.errors import NoResponseError, PetStoreError, seconds_in
from petstore_client.responses import ResponseInfo, info

LOGGER = logging.getLogger("petstore_client")
"""DEBUG: each response. INFO: each retry. WARNING: a deprecated operation. The key is never logged."""

LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
"""No response came, or not all of it."""

TEMPORARY = {409, 429, 502, 503, 504}
"""A later attempt can succeed. After a 500, one is enough."""

LONGEST = 2_147_483
"""Seconds: a socket's timer has 31 bits of milliseconds."""

OURS: dict[str, Any] = {"auth": None, "follow_redirects": False}
"""What no client that a caller gives changes: the key, and that a redirect cannot make a list of an addition."""


class Options(TypedDict, total=False):
    """How the API is called: options of a client, which `with_options` changes for some calls."""

    timeout: float | httpx.Timeout
    """Seconds to wait for a connection, and for each part of a response. 10 if it is not given."""
    max_retries: int
    """How many more attempts at most: 4."""
    max_wait: float
    """Seconds: a longer `Retry-After` raises the error at once: 60."""
    deadline: float
    """Seconds for each attempt, the whole body included: 60."""
    headers: Mapping[str, str]
    """What to send with each request, beside the headers of the client."""
    on_response: Callable[[ResponseInfo], object] | None
    """Called with each response that comes, also with one that is tried again."""


def with_headers(options: Options, changed: Options) -> Options:
    """Return the options with some changed. Headers are added to those that there are."""
    return options | changed | {"headers": {**options.get("headers", {}), **changed.get("headers", {})}}


def request_options(key: str, options: Options) -> dict[str, Any]:
    """Return what httpx needs to build requests. They are sent through another client."""
    timeout = options.get("timeout", 10)
    limited = min(timeout, LONGEST) if isinstance(timeout, (int, float)) else timeout
    return {"headers": headers(key, options.get("headers", {})), "timeout": limited}


class Retries(NamedTuple):
    """Which requests are repeated, and when: GETs, and POSTs with an `Idempotency-Key`."""

    max_retries: int
    max_wait: float
    deadline: float
    on_response: Callable[[ResponseInfo], object] | None

    @classmethod
    def of(cls, options: Options) -> "Retries":
        """Return what the options say about retries."""
        waits = options.get("max_wait", 60), options.get("deadline", 60)
        return cls(options.get("max_retries", 4), *waits, options.get("on_response"))

    def after_loss(self, request: httpx.Request, error: httpx.RequestError, attempt: int) -> float:
        """Return the seconds to wait before the next attempt. Raise `NoResponseError` if there is none."""
        if isinstance(error, LOST) and self._can_repeat(request, attempt):
            return _logged(request, type(error).__name__, min(backoff(attempt), self.max_wait))
        raise NoResponseError.of_loss(error) from error

    def after(self, response: httpx.Response, attempt: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None if the response is final and a success."""
        _log(response)
        if self.on_response:
            self.on_response(info(response))
        wait = _seconds_to_wait(response, attempt)
        if wait is not None and wait <= self.max_wait and self._can_repeat(response.request, attempt):
            return _logged(response.request, str(response.status_code), wait)
        if _is_unchanged(response) or _is_success_of_the_api(response):
            return None
        raise PetStoreError.of(response)

    def _can_repeat(self, request: httpx.Request, attempt: int) -> bool:
        is_safe = request.method == "GET" or "Idempotency-Key" in request.headers
        return is_safe and attempt < self.max_retries


def _log(response: httpx.Response) -> None:
    request, head = response.request, response.headers
    LOGGER.debug("%s: %s, request ID %s", _named(request), response.status_code, head.get("X-Request-ID"))
    if "Deprecation" in head:
        LOGGER.warning("%s is deprecated. Its last day: %s.", _named(request), head.get("Sunset"))


def _logged(request: httpx.Request, reason: str, wait: float) -> float:
    LOGGER.info("%s: %s, next attempt in %.1f s", _named(request), reason, wait)
    return wait


def _named(request: httpx.Request) -> str:
    return f"{request.method} {request.url.raw_path.decode()}"


def late(request: httpx.Request) -> httpx.ReadTimeout:
    """Return the error of a response that took longer than its deadline."""
    return httpx.ReadTimeout("The deadline of the request passed.", request=request)


class InTime(httpx.SyncByteStream):
    """The body of a response, which must come before a time of `time.monotonic`."""

    def __init__(self, response: httpx.Response, latest: float) -> None:
        """Read what the response would."""
        self._stream = cast("httpx.SyncByteStream", response.stream)
        self._request, self._latest = response.request, latest

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > self._latest:
                raise late(self._request)
            yield part

    def close(self) -> None:
        """Close the stream of the response."""
        self._stream.close()


class RetryingClient(httpx.Client):
    """Builds the requests, and sends them through another client as often as needed."""

    def __init__(self, via: httpx.Client | None, base_url: str, key: str, options: Options) -> None:
        """Send through `via`, or a client of our own."""
        transport = httpx.BaseTransport()
        super().__init__(base_url=base_url, **request_options(key, options), transport=transport, trust_env=False)
        self.via = via or httpx.Client()
        self._is_ours = via is None
        self._retries = Retries.of(options)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send the request until it has a final response. Raise `PetStoreError` if that is an error, or none comes."""
        attempt = 0
        while True:
            wait: float | None
            latest = time.monotonic() + self._retries.deadline
            try:
                response = self.via.send(request, **options | OURS | {"stream": True})
                response.stream = InTime(response, latest)
                try:
                    response.read()
                finally:
                    response.close()
            except httpx.RequestError as error:
                wait = self._retries.after_loss(request, error, attempt)
            else:
                wait = self._retries.after(response, attempt)
            if wait is None:
                return response
            time.sleep(wait)
            attempt += 1

    def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        super().close()
        if self._is_ours:
            self.via.close()


class AsyncRetryingClient(httpx.AsyncClient):
    """As `RetryingClient`, for `asyncio`."""

    def __init__(self, via: httpx.AsyncClient | None, base_url: str, key: str, options: Options) -> None:
        """Send through `via`, or a client of our own."""
        transport = httpx.AsyncBaseTransport()
        super().__init__(base_url=base_url, **request_options(key, options), transport=transport, trust_env=False)
        self.via = via or httpx.AsyncClient()
        self._is_ours = via is None
        self._retries = Retries.of(options)

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send the request until it has a final response. Raise `PetStoreError` if that is an error, or none comes."""
        attempt = 0
        while True:
            wait: float | None
            try:
                async with asyncio.timeout(self._retries.deadline):
                    response = await self.via.send(request, **options | OURS)
            except TimeoutError:
                wait = self._retries.after_loss(request, late(request), attempt)
            except httpx.RequestError as error:
                wait = self._retries.after_loss(request, error, attempt)
            else:
                wait = self._retries.after(response, attempt)
            if wait is None:
                return response
            await asyncio.sleep(wait)
            attempt += 1

    async def aclose(self) -> None:
        """Close the connections, unless they are the caller's."""
        await super().aclose()
        if self._is_ours:
            await self.via.aclose()


def _seconds_to_wait(response: httpx.Response, attempt: int) -> float | None:
    """Return how long to wait before the next attempt, or None if another one is of no use."""
    if response.status_code not in TEMPORARY and (response.status_code != 500 or attempt):
        return None
    seconds = seconds_in(response.headers)
    return backoff(attempt) if seconds is None else seconds


def backoff(attempt: int) -> float:
    """Return seconds: about 0.4, 0.8, 1.6, … with some chance, so that clients do not return all at once."""
    return random.uniform(0.25, 0.5) * 2.0**attempt  # noqa: S311 (no secret)


def _is_unchanged(response: httpx.Response) -> bool:
    return response.status_code == 304 and "If-None-Match" in response.request.headers


def _is_success_of_the_api(response: httpx.Response) -> bool:
    """Return whether the API responds like this. If not, it is from a proxy, such as its sign-in page."""
    status = 201 if response.request.method == "POST" else 200
    is_json = response.headers.get("Content-Type", "").lower().startswith("application/json")
    return response.status_code == status and is_json and _can_be_parsed(response)


def _can_be_parsed(response: httpx.Response) -> bool:
    try:
        response.json()
    except ValueError:
        return False
    return True
