"""What an installation is doing just now, told to whoever listens in its thread. Standard library only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Steps that are told inside go to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(step: str) -> None:
    """Say what begins now, in a few words."""
    listener = _listener.get()
    if listener is not None:
        listener(step)
