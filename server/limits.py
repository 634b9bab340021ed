"""Who has the connections of a worker: a client a quarter of them, and probes always find room."""

from collections import Counter
from ipaddress import IPv6Address
from typing import Any

SHARE = 4  # a client has at most one connection in so many
SPARE = 8  # one connection in so many is for what comes when there is no room: it gets 503, or what is served always


class Limits:
    """The connections of a worker, at most `most`."""

    def __init__(self, most: int) -> None:
        self._spare = most // SPARE
        self._most = most - self._spare
        self._each = max(1, most // SHARE)
        self._held: Counter[str] = Counter()
        self._admitted = 0
        self._extra: dict[Any, None] = {}

    def admit(self, connection: Any, client: str) -> bool:
        """Return whether there is room. If not, the connection is one of the few that get a response and end.

        Of these few the oldest is ended when there are too many. `client` is empty if it is not known yet.
        """
        if self._admitted < self._most and (not client or self.hold(client)):
            self._admitted += 1
            return True
        self._extra[connection] = None
        if len(self._extra) > self._spare:
            oldest = next(iter(self._extra))
            del self._extra[oldest]
            oldest.abort()
        return False

    def leave(self, connection: Any, *, admitted: bool) -> None:
        """Forget a connection that has ended."""
        self._admitted -= admitted
        self._extra.pop(connection, None)

    def hold(self, client: str) -> bool:
        """Count a connection of the client, if it has not too many."""
        if self._held[client] >= self._each:
            return False
        self._held[client] += 1
        return True

    def release(self, client: str) -> None:
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]


def client_of(address: str) -> str:
    """Return who has the address: with IPv6, a client has 2^64 of them."""
    if ":" not in address:
        return address
    try:
        ip = IPv6Address(address)
    except ValueError:
        return address
    return str(ip.ipv4_mapped or ip.exploded[:19])
