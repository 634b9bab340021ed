"""How late this program itself is: a busy machine adds as much to every time that is measured here."""

import time
from threading import Thread

TICK = 0.01
"""Seconds."""


class Noise(Thread):
    """Sleeps again and again, and remembers when it woke up late."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._late: list[tuple[float, float]] = []

    def run(self) -> None:
        """Measure, until the program ends."""
        while True:
            begun = time.monotonic()
            time.sleep(TICK)
            late = time.monotonic() - begun - TICK
            if late > TICK:
                self._late.append((begun, late))

    def during(self, begun: float, seconds: float) -> float:
        """Return how many seconds it was late at most in this time."""
        ended = begun + seconds
        return max((late for at, late in self._late if begun <= at + TICK + late and at <= ended), default=0.0)


noise = Noise()
