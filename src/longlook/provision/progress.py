"""Reports the steps of an installation to a listener of the same thread. Standard library only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` with every step that is reported inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_step(step: str) -> None:
    """Report the step that begins now, in a few words; without a listener, do nothing."""
    listener = _listener.get()
    if listener is not None:
        listener(step)
