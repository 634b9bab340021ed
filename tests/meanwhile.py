"""What goes on in the background while a test does something else."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event


@contextmanager
def meanwhile(*tasks: Callable[[Event], object]) -> Iterator[None]:
    """Run the tasks during the block, then set their event and wait for them. Raise what one of them raised."""
    over = Event()
    with ThreadPoolExecutor(len(tasks)) as pool:
        running = [pool.submit(task, over) for task in tasks]
        try:
            yield
        finally:
            over.set()
        for each in running:
            each.result()
