"""Respond to requests under /v1 in the event loop: the operations that the views declare, without Django around them.

What is unusual goes on to Django, whose viewsets have the same operations (docs/decisions/0040).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.db import DatabaseError, InterfaceError
from rest_framework.exceptions import APIException

from database.errors import BROKEN, RETRYABLE, described, failure_of, outcome_is_unknown, reset_commit_state, sqlstate
from history.acting import begin_request
from petstore_site.apikeys.admission import admit, complete_async
from petstore_site.errors import OverloadError, UnknownOutcomeError
from petstore_site.serving.access import Batch, record_of
from rest.errors import error_result
from rest.media_type import render_json
from rest.request import Request, Routes
from rest.responses import Finish, Response

DEADLINE = 6.5  # seconds after which a request that has not begun its response is given up
# Seconds that the last in the queue may have to wait, as far as can be foreseen. A rejection takes more than half of
# the time that a read takes, so that rejecting early serves fewer.
MOST_SECONDS = 2
WEIGHT = 0.05  # of the last request, in the average of how long they keep a place
UNCONFIRMED = "no standby confirmed its COMMIT"


class Adapter:
    """Responds to requests whose routes have operations. The driver runs their steps, by the time they have."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._routes = Routes()
        self._finish = Finish()
        self._observe = Batch().observe

    async def respond(self, request: Request, read_body: Callable[[], Awaitable[object]]) -> Response | None:
        """Return the response, or None: Django is to respond. `read_body` reads the body into the request.

        Raises `OverloadError`, `UnknownOutcomeError`, and `DatabaseError` if trying again would not help.
        """
        place = self._routes.find(request.path)
        has_origin = "origin" in request.headers and settings.CORS_ALLOWED_ORIGINS
        if place is None or request.method == "OPTIONS" or has_origin or not request.host:
            return None
        request.route, request.argument = place
        begin_request(request.id)
        try:
            return await self._respond(request, read_body)
        except (DatabaseError, InterfaceError) as error:
            if outcome_is_unknown():
                raise UnknownOutcomeError(described(error)) from error
            # Django may do better: on another connection, after another transaction, or with another plan.
            if sqlstate(error) not in RETRYABLE and failure_of(error) not in {BROKEN, None}:
                raise
            return None
        except SuspiciousOperation:
            return None

    async def _respond(self, request: Request, read_body: Callable[[], Awaitable[object]]) -> Response:
        reset_commit_state()
        try:
            self._driver.admit(reads=request.reads)
            await admit(request, self._driver.run_for_key)
            if not request.reads:
                await read_body()
            steps = request.route.operations[request.method](request)
            result = await self._driver.run(steps, request.started + DEADLINE, reads=request.reads)
        except APIException as error:
            result = error_result(error)
            await complete_async(request)
        if outcome_is_unknown():
            raise UnknownOutcomeError(UNCONFIRMED)
        response = self._finish(request, result.status, result.headers, render_json(result.data))
        self._observe(record_of(request, response.status, result.code, result.message))
        return response


# --- The queue before a few threads or connections --------------------------------------------------------------------


class Queue:
    """Counts the requests that wait, and rejects one that would wait too long by the average of those before."""

    def __init__(self, places: int) -> None:
        self.waiting = 0
        self._places = places
        self._average_seconds = 0.0

    def admit(self) -> None:
        """Raise `OverloadError` if a new request would wait too long."""
        if self.waiting * self._average_seconds / self._places > MOST_SECONDS:
            raise OverloadError

    async def enter(self, rooms: Sequence[asyncio.Semaphore], seconds: float, latest: float) -> None:
        """Take a place in each room; raises `OverloadError` after so many seconds, or at the time `latest`."""
        if not any(room.locked() for room in rooms):  # the rest takes time
            for room in rooms:
                await room.acquire()
            return
        taken: list[asyncio.Semaphore] = []
        self.waiting += 1
        try:
            async with asyncio.timeout(min(seconds, latest - time.perf_counter())):
                for room in rooms:
                    await room.acquire()
                    taken.append(room)
        except TimeoutError:
            raise OverloadError from None
        finally:
            self.waiting -= 1
            if len(taken) < len(rooms):
                for room in taken:
                    room.release()

    def learn(self, seconds: float) -> None:
        """Take into the average how long a place was kept."""
        self._average_seconds += WEIGHT * (seconds - self._average_seconds)
