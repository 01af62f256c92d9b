"""`longlook explain TRACE…`: files that a user names → answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError
from longlook.instruments.transfer.answer import TransferAnswer, explain_one
from longlook.instruments.transfer.reading import End, read_trace

_MOST = 2


@dataclass(frozen=True)
class TransferRequest:
    """The traces of one transfer, one or both ends, and how they are read."""

    traces: Sequence[Path]
    vantage: str | None = None
    connection: int | None = None
    keys: Path | None = None


def explain_transfer(request: TransferRequest) -> list[TransferAnswer]:
    """Return an answer for each trace of a transfer. Raise InputError for what is no trace of one."""
    if len(request.traces) > _MOST:
        raise InputError(f"{len(request.traces)} traces: a transfer has two ends", "name one trace, or one of each end")
    end = _end(request.vantage)
    return [explain_one(read_trace(path, end, request.connection, request.keys)) for path in request.traces]


def _end(vantage: str | None) -> End | None:
    if vantage not in (None, "client", "server"):
        raise InputError(f"--vantage {vantage}: no such end", "write client or server")
    return "client" if vantage == "client" else "server" if vantage == "server" else None
