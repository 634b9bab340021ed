"""Slots for workers: as many processes have one as there are slots, however they end."""

import os
import signal
from collections.abc import Iterator

import pytest

from server.slots import WorkerSlots


class Worker:
    """A process that takes a slot if there is one, and then does nothing."""

    def __init__(self, slots: WorkerSlots) -> None:
        answer, said = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.write(said, b"1" if slots.take() else b"0")
            signal.pause()
        self.has_slot = os.read(answer, 1) == b"1"
        os.close(answer)
        os.close(said)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def started() -> Iterator[list[Worker]]:
    started: list[Worker] = []
    yield started
    for worker in started:
        worker.kill()


def test_a_slot_is_free_when_its_process_is_killed(started: list[Worker]) -> None:
    slots = WorkerSlots(2)
    started += [Worker(slots) for _ in range(3)]
    assert [worker.has_slot for worker in started] == [True, True, False]
    started.pop(0).kill()
    started.append(Worker(slots))
    assert started[-1].has_slot
    slots._file.close()
