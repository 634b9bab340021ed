"""Who has the connections of a worker. `tests/protocol/test_limits.py` has the rest, with a real one."""

from server.limits import Limits


def test_a_client_without_connections_takes_no_memory() -> None:
    limits = Limits(64)
    for number in range(1000):
        assert limits.hold(f"2001:db8::{number}")
        limits.release(f"2001:db8::{number}")
    assert not limits._held
