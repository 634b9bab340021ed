"""Retries what is safe to repeat, and raises every other error."""

import asyncio
import random
import time
from typing import Any

import httpx

from petstore_client.errors import PetStoreError

LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
"""No response came, or not all of it."""

TEMPORARY = {409, 429, 502, 503, 504}
"""A later attempt can succeed. After a 500, one is enough."""


class RetryingClient(httpx.Client):
    """Repeat GETs, and POSTs with an `Idempotency-Key`, when no response or a temporary error comes.

    It makes at most `retries` more attempts. `max_wait` is in seconds: a longer `Retry-After` raises the error at once.
    """

    def __init__(self, *, retries: int, max_wait: float, **options: Any) -> None:
        """Pass other options on to httpx."""
        super().__init__(**options)
        self.retries = retries
        self.max_wait = max_wait

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send the request until it has a final response. Raise `PetStoreError` if that is an error."""
        for attempt in range(self.retries if _is_safe(request) else 0):
            try:
                response = super().send(request, **options)
            except LOST:
                time.sleep(min(backoff(attempt), self.max_wait))
                continue
            wait = _seconds_to_wait(response, attempt)
            if wait is None or wait > self.max_wait:
                return _checked(response)
            time.sleep(wait)
        return _checked(super().send(request, **options))


class AsyncRetryingClient(httpx.AsyncClient):
    """As `RetryingClient`, for `asyncio`."""

    def __init__(self, *, retries: int, max_wait: float, **options: Any) -> None:
        """Pass other options on to httpx."""
        super().__init__(**options)
        self.retries = retries
        self.max_wait = max_wait

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send the request until it has a final response. Raise `PetStoreError` if that is an error."""
        for attempt in range(self.retries if _is_safe(request) else 0):
            try:
                response = await super().send(request, **options)
            except LOST:
                await asyncio.sleep(min(backoff(attempt), self.max_wait))
                continue
            wait = _seconds_to_wait(response, attempt)
            if wait is None or wait > self.max_wait:
                return _checked(response)
            await asyncio.sleep(wait)
        return _checked(await super().send(request, **options))


def _is_safe(request: httpx.Request) -> bool:
    return request.method == "GET" or "Idempotency-Key" in request.headers


def _seconds_to_wait(response: httpx.Response, attempt: int) -> float | None:
    """Return how long to wait before the next attempt, or None if another one is of no use."""
    if response.status_code not in TEMPORARY and (response.status_code != 500 or attempt):
        return None
    seconds = response.headers.get("Retry-After", "")
    return int(seconds) if seconds.isdecimal() else backoff(attempt)


def backoff(attempt: int) -> float:
    """Return seconds: about 0.4, 0.8, 1.6, … with some chance, so that clients do not return all at once."""
    return random.uniform(0.25, 0.5) * 2.0**attempt  # noqa: S311 (no secret)


def _checked(response: httpx.Response) -> httpx.Response:
    if response.status_code == 304 or _is_success_of_the_api(response):
        return response
    raise PetStoreError.of(response)


def _is_success_of_the_api(response: httpx.Response) -> bool:
    """Return whether the API responds like this. If not, it is from a proxy, such as its sign-in page."""
    status = 201 if response.request.method == "POST" else 200
    is_json = response.headers.get("Content-Type", "").lower().startswith("application/json")
    return response.status_code == status and is_json
