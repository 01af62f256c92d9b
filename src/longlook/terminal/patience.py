"""A word from work that says nothing by itself and takes long: on standard error, so that results stay alone."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from longlook.terminal.console import duration, error_console

FIRST_S = 5.0
"""The silence after which a line appears; the next ones come when twice as much time has passed."""


@contextmanager
def at_work(what: str, first_s: float = FIRST_S) -> Iterator[None]:
    """Print `what … 10 s` while the block goes on: `what` is what it does, such as `drawing the page`."""
    ended = threading.Event()
    began_s = time.monotonic()

    def speak() -> None:
        due_s = first_s
        while not ended.wait(max(0.0, began_s + due_s - time.monotonic())):
            error_console().print(f"{what} … {duration(time.monotonic() - began_s)}")
            due_s *= 2

    speaker = threading.Thread(target=speak, name="patience", daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()
