"""The breaker lets nobody wait for what has just failed, and one caller at a time try it again."""

from types import SimpleNamespace

import pytest

from database.breaker import Breaker


def test_after_a_failure_one_caller_at_a_time_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("database.breaker.time", SimpleNamespace(monotonic=lambda: now[0]))
    breaker = Breaker(seconds=0.5)
    assert (breaker.allows(), breaker.allows()) == (True, True)
    breaker.fail()
    assert not breaker.allows()
    now[0] += 0.5
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.fail()
    assert not breaker.allows()
    breaker.succeed()
    assert (breaker.allows(), breaker.allows()) == (True, True)
