"""Floor: an application that returns the bytes of a page of 20 animals, for WSGI and for ASGI."""

from typing import Any

import orjson
import petstore_site.wsgi  # noqa: F401 - so that a worker loads what it always loads

BODY = orjson.dumps([{"id": 999_981 + i, "name": "Animal", "categoryId": 3, "status": "available"} for i in range(20)])
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS]


def wsgi(_environ: Any, start_response: Any) -> list[bytes]:
    """Respond to a WSGI server."""
    start_response("200 OK", HEADERS)
    return [BODY]


async def asgi(scope: Any, receive: Any, send: Any) -> None:
    """Respond to an ASGI server."""
    while scope["type"] == "lifespan":
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return
    await send({"type": "http.response.start", "status": 200, "headers": ENCODED})
    await send({"type": "http.response.body", "body": BODY})
