"""The engines a user can name."""

from collections.abc import Callable, Mapping

from longlook.core import Engine, InputError, registry


def _live() -> Engine:
    from longlook.engines.live import LiveEngine

    return LiveEngine()


def _virtual() -> Engine:
    from longlook.engines.virtual import VirtualEngine

    return VirtualEngine()


ENGINES: Mapping[str, Callable[[], Engine]] = {"virtual": _virtual, "live": _live}
DEFAULT = "virtual"


def make_engine(name: str) -> Engine:
    """Return the engine of a name, not yet entered; raise InputError for an unknown name."""
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}", f"known: {', '.join(ENGINES)}{registry.nearest(name, ENGINES)}")
    return ENGINES[name]()
