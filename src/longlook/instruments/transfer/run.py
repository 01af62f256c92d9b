"""`longlook explain TRACE…`: files that a user names → answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError
from longlook.instruments.transfer.answer import TransferAnswer, explain_one
from longlook.instruments.transfer.joined import Joined, join
from longlook.instruments.transfer.reading import End, read_trace
from longlook.instruments.transfer.recording import Recording

_MOST = 2


@dataclass(frozen=True)
class TransferRequest:
    """The traces of one transfer, one or both ends, and how they are read."""

    traces: Sequence[Path]
    vantage: str | None = None
    connection: int | None = None
    keys: Path | None = None


@dataclass(frozen=True)
class TransferAnswers:
    """An answer for each trace of a transfer; of two ends that belong together also both as one."""

    each: Sequence[TransferAnswer]
    joined: Joined | None = None
    why_not_joined: str = ""


def explain_transfer(request: TransferRequest) -> TransferAnswers:
    """Return an answer for each trace of a transfer. Raise InputError for what is no trace of one."""
    if len(request.traces) > _MOST:
        raise InputError(f"{len(request.traces)} traces: a transfer has two ends", "name one trace, or one of each end")
    end = end_of(request.vantage)
    found = [read_trace(path, end, request.connection, request.keys) for path in request.traces]
    if len(found) < _MOST:
        return TransferAnswers([explain_one(each) for each in found])
    joined = _joined(*found)
    if isinstance(joined, str):
        return TransferAnswers([explain_one(each) for each in found], why_not_joined=joined)
    return TransferAnswers([explain_one(each, alone=False) for each in found], joined)


def _joined(one: Recording, other: Recording) -> Joined | str:
    if not (one.is_quic and other.is_quic):
        return "segments of TCP have no numbers of their own"
    if one.end == other.end != "unknown":
        return f"both are of the {one.end}"
    if one.end != other.end:
        is_client = one.end == "client" or other.end == "server"
    elif one.sends == other.sends:
        return "neither names its end, and which of them received the data is not clear"
    else:
        is_client = other.sends  # the data is taken to come from the server, which the answer says
    return join(one, other) if is_client else join(other, one)


def end_of(vantage: str | None) -> End | None:
    """Return the end that an option names, None if it names none. Raise InputError for another word."""
    if vantage not in (None, "client", "server"):
        raise InputError(f"--vantage {vantage}: no such end", "write client or server")
    return "client" if vantage == "client" else "server" if vantage == "server" else None
