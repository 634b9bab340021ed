"""Shows how far a command is: a bar on a terminal, a line every ten seconds elsewhere."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Any

TERMINAL_SECONDS, LINE_SECONDS = 0.5, 10.0


@contextmanager
def shown(stream: Any, text: Callable[[], str], position: Callable[[], int], size: int) -> Iterator[None]:
    """Show `text`, and `position` of `size`, by a thread: the block may wait for the database for minutes."""
    ended = threading.Event()
    show = _bar if stream.isatty() else _lines
    thread = threading.Thread(target=show, args=(ended, stream, text, position, size), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _bar(ended: threading.Event, stream: Any, text: Callable[[], str], position: Callable[[], int], size: int) -> None:
    from tqdm import tqdm  # noqa: PLC0415 - it takes a fifth of the start

    layout = "{desc} |{bar}|" if size else "{desc}"
    columns, rows = get_terminal_size()  # the usual ones of a terminal that says it has none: tqdm would show nothing
    with tqdm(total=size or None, file=stream, leave=False, bar_format=layout, ncols=columns, nrows=rows) as bar:
        while not ended.wait(TERMINAL_SECONDS):
            bar.n = min(position(), size)
            bar.set_description_str(text())


def _lines(ended: threading.Event, stream: Any, text: Callable[[], str], _position: object, _size: object) -> None:
    while not ended.wait(LINE_SECONDS):
        stream.write(f"{text()}\n")
        stream.flush()
