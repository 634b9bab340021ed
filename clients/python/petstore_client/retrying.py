"""Retries what is safe to repeat, and raises every other error."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import httpx

from petstore_client.errors import NoResponseError, PetStoreError, seconds_in
from petstore_client.responses import ResponseInfo, info

LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
"""No response came, or not all of it."""

TEMPORARY = {409, 429, 502, 503, 504}
"""A later attempt can succeed. After a 500, one is enough."""

OURS: dict[str, Any] = {"auth": None, "follow_redirects": False}
"""What no client that a caller gives changes: the key, and that a redirect cannot make a list of an addition."""


class Retries(NamedTuple):
    """Which requests are repeated, and when: GETs, and POSTs with an `Idempotency-Key`."""

    retries: int
    """How many more attempts at most."""
    max_wait: float
    """Seconds: a longer `Retry-After` raises the error at once."""
    deadline: float
    """Seconds for each attempt, the whole body included."""
    on_response: Callable[[ResponseInfo], object] | None

    def after_loss(self, request: httpx.Request, error: httpx.RequestError, attempt: int) -> float:
        """Return the seconds to wait before the next attempt. Raise `NoResponseError` if there is none."""
        if isinstance(error, LOST) and self._can_repeat(request, attempt):
            return min(backoff(attempt), self.max_wait)
        raise NoResponseError.of_loss(error) from error

    def after(self, response: httpx.Response, attempt: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None if the response is final and a success."""
        if self.on_response:
            self.on_response(info(response))
        wait = _seconds_to_wait(response, attempt)
        if wait is not None and wait <= self.max_wait and self._can_repeat(response.request, attempt):
            return wait
        if _is_unchanged(response) or _is_success_of_the_api(response):
            return None
        raise PetStoreError.of(response)

    def _can_repeat(self, request: httpx.Request, attempt: int) -> bool:
        is_safe = request.method == "GET" or "Idempotency-Key" in request.headers
        return is_safe and attempt < self.retries


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

    def __init__(self, via: httpx.Client | None, retries: Retries, **options: Any) -> None:
        """Send through `via`, or a client of our own. Pass other options on to httpx."""
        super().__init__(**options, transport=httpx.BaseTransport(), trust_env=False)
        self._via = via or httpx.Client()
        self._is_ours = via is None
        self._retries = retries

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send the request until it has a final response. Raise `PetStoreError` if that is an error, or none comes."""
        attempt = 0
        while True:
            wait: float | None
            latest = time.monotonic() + self._retries.deadline
            try:
                response = self._via.send(request, **options | OURS | {"stream": True})
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
            self._via.close()


class AsyncRetryingClient(httpx.AsyncClient):
    """As `RetryingClient`, for `asyncio`."""

    def __init__(self, via: httpx.AsyncClient | None, retries: Retries, **options: Any) -> None:
        """Send through `via`, or a client of our own. Pass other options on to httpx."""
        super().__init__(**options, transport=httpx.AsyncBaseTransport(), trust_env=False)
        self._via = via or httpx.AsyncClient()
        self._is_ours = via is None
        self._retries = retries

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send the request until it has a final response. Raise `PetStoreError` if that is an error, or none comes."""
        attempt = 0
        while True:
            wait: float | None
            try:
                async with asyncio.timeout(self._retries.deadline):
                    response = await self._via.send(request, **options | OURS)
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
            await self._via.aclose()


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
