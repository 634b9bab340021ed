"""Reloading, with a master that only counts. tests/test_gunicorn.py has the real one."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from server import reloading
from server.reloading import Reloading, is_ready, say_ready
from tests.server import ROOT, until

CHECK = [sys.executable, "manage.py", "check"]


class Master:
    """What `Reloading` uses of gunicorn's master."""

    def __init__(self, workers: int) -> None:
        self.num_workers = workers
        self.cfg = SimpleNamespace(workers=workers, chdir=str(ROOT))
        self.numbers = count()
        self.WORKERS: dict[int, Any] = {}
        self.start(workers)
        self.kept = self.reloads = 0
        self.log = mock.Mock()

    def start(self, workers: int) -> None:
        self.WORKERS |= {next(self.numbers): SimpleNamespace(tmp=tempfile.TemporaryFile()) for _ in range(workers)}  # noqa: SIM115 - the fixture closes them

    def manage_workers(self) -> None:
        self.kept += 1

    def handle_hup(self) -> None:
        raise AssertionError

    def reload(self) -> None:
        """Start as many new workers, and wait for the end of the old ones, as gunicorn does."""
        self.reloads += 1
        old = set(self.WORKERS)
        self.start(self.cfg.workers)
        self.manage_workers()
        assert not old & set(self.WORKERS), "it would wait for the old ones"


@pytest.fixture
def master() -> Iterator[Master]:
    master = Master(2)
    Reloading(master, CHECK, with_spare=False)
    get_ready(master)
    yield master
    for each in master.WORKERS.values():
        each.tmp.close()


@pytest.fixture
def is_done(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """Whether the check is done, which finds nothing."""
    check = mock.Mock()
    check.return_value.is_done.return_value = True
    check.return_value.mistakes.return_value = []
    monkeypatch.setattr(reloading, "Check", check)
    done: mock.Mock = check.return_value.is_done
    return done


def get_ready(master: Master) -> None:
    for each in master.WORKERS.values():
        say_ready(each)


def manage_until(master: Master, condition: Callable[[], object]) -> None:
    """Let the master go on until the condition holds."""

    def holds() -> object:
        master.manage_workers()
        return condition()

    until(holds)


def settle(master: Master, *, reloads: int) -> None:
    manage_until(master, lambda: master.reloads == reloads)


@pytest.mark.usefixtures("is_done")
def test_old_workers_stay_until_the_new_ones_are_ready(master: Master) -> None:
    master.handle_hup()
    settle(master, reloads=1)
    assert sorted(master.WORKERS) == [0, 1, 2, 3]
    kept = master.kept
    master.manage_workers()
    assert master.kept == kept
    for each in master.WORKERS.values():
        say_ready(each)
        assert is_ready(each)
    master.manage_workers()
    assert master.kept == kept + 1


def test_several_signals_lead_to_one_reload_more(master: Master, is_done: mock.Mock) -> None:
    is_done.return_value = False
    master.handle_hup()
    master.manage_workers()
    for _ in range(5):
        master.handle_hup()
    is_done.return_value = True
    settle(master, reloads=2)
    get_ready(master)
    for _ in range(3):
        master.manage_workers()
    assert master.reloads == 2


@pytest.mark.usefixtures("is_done")
def test_a_spare_is_started_when_the_others_are_ready(master: Master) -> None:
    """Also after a reload, which first ends all old workers with their spare."""
    del master.manage_workers, master.handle_hup
    Reloading(master, CHECK, with_spare=True)
    master.manage_workers()
    assert master.num_workers == 3
    master.start(1)
    master.manage_workers()
    assert master.num_workers == 3
    get_ready(master)
    master.handle_hup()
    settle(master, reloads=1)
    get_ready(master)
    master.manage_workers()
    assert master.num_workers == 2
    for old in range(3):
        master.WORKERS.pop(old).tmp.close()
    master.manage_workers()
    assert master.num_workers == 3


def test_code_that_would_not_start_is_not_loaded(master: Master, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_ENVIRONMENT", "nowhere")
    master.handle_hup()
    manage_until(master, lambda: master.log.error.call_count)
    assert master.log.error.call_args.args == ("Not reloaded: manage.py check failed.",)
    assert master.reloads == 0


def test_code_that_would_start_is_loaded(master: Master) -> None:
    assert os.environ.get("PETSTORE_ENVIRONMENT") is None
    master.handle_hup()
    settle(master, reloads=1)


def test_a_check_that_hangs(master: Master, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloading, "CHECK_SECONDS", 0)
    master.handle_hup()
    manage_until(master, lambda: master.log.error.call_count)
    assert master.log.error.call_args.args == ("Not reloaded: manage.py check took more than 0 s.",)
