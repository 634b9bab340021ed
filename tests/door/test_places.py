"""Places for workers: as many processes have one as there are places, however they end."""

import os
import signal
from collections.abc import Iterator

import pytest

from petstore_site.door.places import Places


class Worker:
    """A process that takes a place if there is one, and then does nothing."""

    def __init__(self, places: Places) -> None:
        answer, said = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.write(said, b"1" if places.take() else b"0")
            signal.pause()
        self.has_place = os.read(answer, 1) == b"1"
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


def test_a_place_is_free_when_its_process_is_killed(started: list[Worker]) -> None:
    places = Places(2)
    started += [Worker(places) for _ in range(3)]
    assert [worker.has_place for worker in started] == [True, True, False]
    started.pop(0).kill()
    started.append(Worker(places))
    assert started[-1].has_place
    places._file.close()
