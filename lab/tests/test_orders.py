"""`lab/trial/orders.py`: which histories of additions and reads one order explains."""

import pytest

from lab.trial.orders import Addition, Read, judge
from lab.trial.readers import Readers, Seen, judge_all


def read(sent: float, received: float, shown: str = "", lacks: str = "") -> Read:
    """Make a read of animals with one letter as their names."""
    return Read(sent, received, frozenset(shown), frozenset(lacks))


ONE = [Addition("a", 1, 2)]
TWO = [Addition("a", 1, 9), Addition("b", 1, 9)]


@pytest.mark.parametrize(
    ("additions", "reads"),
    [
        (ONE, [read(0, 0.5, lacks="a"), read(3, 4, "a")]),
        (ONE, [read(1.2, 1.4, lacks="a"), read(1.5, 1.8, "a")]),
        (ONE, [read(1.2, 1.8, "a"), read(1.3, 1.7, lacks="a")]),
        (ONE, [read(0, 9, lacks="a")]),
        ([Addition("a", 1)], [read(5, 6, "a"), read(7, 8, "a")]),
        ([Addition("a", 1)], [read(5, 6, lacks="a"), read(7, 8, lacks="a")]),
        ([Addition("a", 1)], [read(5, 6, lacks="a"), read(7, 8, "a")]),
        (TWO, [read(2, 3, "a", "b"), read(4, 5, "ab")]),
        (ONE, [read(2, 4, lacks="a")]),
        ([], [read(1, 2, "x"), read(3, 4, "x")]),
    ],
)
def test_one_order_explains_it(additions: list[Addition], reads: list[Read]) -> None:
    assert judge(additions, reads).is_good


def test_an_acknowledged_animal_is_missing() -> None:
    old = read(3, 4, lacks="a")
    verdict = judge(ONE, [old])
    assert (verdict.lacking, verdict.vanished) == ([(old, "a")], [])
    assert verdict.order


def test_an_animal_vanishes() -> None:
    seen, after = read(3, 4, "a"), read(5, 6, lacks="a")
    verdict = judge([Addition("a", 1)], [seen, after])
    assert (verdict.lacking, verdict.vanished) == ([], [(seen, "a")])
    assert verdict.order


@pytest.mark.parametrize(
    ("additions", "reads"),
    [
        (TWO, [read(2, 4, "a", "b"), read(2, 4, "b", "a")]),  # each saw what the other one did not
        (TWO, [read(2, 4, "a", "b"), read(5, 6, "b", "a")]),
        (ONE, [read(0, 0.5, "a")]),  # before it was sent
        # b was sent after a was acknowledged, and is there without it
        ([Addition("a", 1, 2), Addition("b", 3, 9)], [read(1.5, 5, "b", "a")]),
        # never acknowledged, seen, and then not
        ([Addition("a", 1), Addition("b", 1)], [read(2, 5, "a", "b"), read(3, 6, "b", "a")]),
    ],
)
def test_no_order_explains_it(additions: list[Addition], reads: list[Read]) -> None:
    verdict = judge(additions, reads)
    assert verdict.order
    assert not verdict.is_good


def test_a_long_history_is_judged_in_seconds() -> None:
    additions = [Addition(str(each), each, each + 0.5) for each in range(20_000)]
    reads = [
        Read(each + 0.6, each + 0.7, frozenset(str(one) for one in range(each - 99, each + 1)), frozenset())
        for each in range(100, 10_000)
    ]
    assert judge(additions, reads).is_good
    assert not judge(additions, [*reads, Read(15_000.6, 15_000.7, frozenset(), frozenset({"14999"}))]).is_good


def test_what_a_page_shows_and_lacks() -> None:
    """A full page says nothing about animals that are older than its last one."""
    additions = [Addition(str(each), each, each + 0.5) for each in range(1, 203)]
    stored = {each: str(each) for each in range(1, 203)}
    page, before = ({each: str(each) for each in range(first, first + 100)} for first in (103, 101))
    good = Seen(300, 301, "/v1/pets?limit=100", 200, animals=page)
    old = good._replace(animals=before)
    one = Seen(300, 301, "/v1/pets/202", 404, animals={})
    failed = one._replace(status=503)
    assert judge_all([good, failed], additions, stored, 400).is_good
    for bad, lacking in ((old, {"201", "202"}), (one, {"202"})):
        assert {name for _, name in judge_all([bad], additions, stored, 400).lacking} == lacking
    del stored[202]
    assert not judge_all([good], additions, stored, 400).is_good, "acknowledged, read, and lost"


def test_how_long_reads_failed() -> None:
    readers = Readers(0, "", 0)
    statuses = {1: 200, 2: 503, 3: 0, 5: 404, 6: 503, 7: 200}
    readers.seen = [[Seen(at, at + 0.5, "", status, animals={}) for at, status in statuses.items()]]
    assert (readers.failing(0), readers.failing(6), readers.failing(7)) == (3.5, 1.5, 0)
