"""Connections to the Redis that Sentinel names as the master."""

from typing import Any
from urllib.parse import unquote, urlsplit

from redis.sentinel import Sentinel, SentinelConnectionPool


class SentinelPool(SentinelConnectionPool):
    """A pool that asks the Sentinels for each new connection. After a failover it leads to the new master."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> "SentinelPool":
        """Return a pool for redis+sentinel://[:PASSWORD@]HOST:26379,HOST:26379/SERVICE, as Redis's own pools do."""
        parts = urlsplit(url)
        account, _, hosts = parts.netloc.rpartition("@")
        password = unquote(account.partition(":")[2]) or None
        pairs = [each.rsplit(":", 1) for each in hosts.split(",")]
        timeouts = {name: value for name, value in options.items() if name.startswith("socket_")}
        # Without a retry: the next Sentinel is asked at once.
        sentinels = {"password": password, "retry": None, **timeouts}
        nodes = [(host, int(port)) for host, port in pairs]
        manager = Sentinel(nodes, sentinel_kwargs=sentinels)  # type: ignore[no-untyped-call]
        return cls(parts.path.removeprefix("/"), manager, password=password, **options)
