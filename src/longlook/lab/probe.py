"""The outside probe in Rust, for real time: sender and receiver of stamped datagrams, so that Python's own cost is in
no measured time. `linkprobe` has the same in Python, which virtual time does not charge for."""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from longlook.errors import LonglookError
from longlook.lab.network import Side
from longlook.linkprogram import link_program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UDP_IP_BYTES = 28
SENDER_PRIORITY = 60
"""Above the router's, so that a due packet is stamped and sent without a wait in between."""
_PORT = 9
_STOP_S = 10.0
_RECORD = (
    ("sequence", "<u8"),
    ("sent_ns", "<u8"),
    ("received_ns", "<u8"),
    ("size_bytes", "<u4"),
    ("ttl", "u1"),
    ("tos", "u1"),
    ("intact", "u1"),
    ("unused", "u1"),
)


@dataclass(frozen=True)
class Packet:
    """One to be sent: nanoseconds from the start, bytes of the IP packet, and which of the sender's ports it takes."""

    offset_ns: int
    size_bytes: int
    flow: int = 0


class Receiver:
    """`longlook-link probe receive` on a side; a context manager. After it, `arrivals` has a row for each datagram."""

    def __init__(self, side: Side, folder: Path) -> None:
        self._side, self._file = side, folder / "arrivals.bin"
        self.arrivals: NDArray[np.void]
        self.socket_drops = 0

    def __enter__(self) -> Self:
        address = f"{self._side.end.address}:{_PORT}"
        self._process = _start(self._side, ["receive", "--at", address, "--out", str(self._file)])
        try:
            _hear(self._process, "ready")
        except BaseException:
            _end(self._process)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.send_signal(signal.SIGTERM)
            if kind is None:
                self.socket_drops = int(_hear(self._process, "received")["socket_drops"])
                self.arrivals = _read(self._file)
        finally:
            _end(self._process)
            self._file.unlink(missing_ok=True)


def send_regularly(
    side: Side, count: int, packets_per_s: float, size_bytes: int, group: int = 1, *, realtime: bool = True
) -> None:
    """Send numbered datagrams at a rate, `group` at a time; rate 0: as fast as possible."""
    arguments = ["--count", str(count), "--rate", str(packets_per_s), "--size", str(size_bytes), "--group", str(group)]
    _send(side, arguments, realtime=realtime)


def send_by_schedule(
    side: Side, packets: Sequence[Packet], folder: Path, *, realtime: bool = True, tos: int = 0
) -> "NDArray[np.uint64]":
    """Send each at its time; when each was sent, in nanoseconds since 1970."""
    import numpy as np

    schedule, stamps = folder / "schedule.txt", folder / "stamps.bin"
    schedule.write_text("".join(f"{packet.offset_ns} {packet.size_bytes} {packet.flow}\n" for packet in packets))
    arguments = ["--schedule", str(schedule), "--out", str(stamps), "--tos", str(tos)]
    _send(side, arguments, realtime=realtime)
    return np.fromfile(stamps, "<u8")


def stream_bps(sender: Side, receiver: Side, seconds: float, skip_s: float = 1.0) -> float:
    """What one TCP connection carries for so long, without its first second."""
    address = f"{receiver.end.address}:{_PORT}"
    taking = _start(receiver, ["stream-receive", "--at", address, "--skip", str(skip_s)])
    try:
        _hear(taking, "ready")
        giving = _start(sender, ["stream-send", "--to", address, "--seconds", str(seconds)])
        try:
            return float(_hear(taking, "received")["bits_per_second"])
        finally:
            _end(giving)
    finally:
        _end(taking)


def _send(side: Side, arguments: Sequence[str], *, realtime: bool) -> None:
    priority = SENDER_PRIORITY if realtime else 0
    common = ["send", "--to", f"{side.end.peer_address}:{_PORT}", "--fifo", str(priority)]
    process = _start(side, [*common, *arguments])
    try:
        sent = _hear(process, "sent")
    finally:
        _end(process)
    if sent["unsent"]:
        raise LonglookError(f"the probe's device had no room for {sent['unsent']} packets")


def _start(side: Side, arguments: Sequence[str]) -> "subprocess.Popen[str]":
    with side.namespace.inside():
        return subprocess.Popen([link_program().path, "probe", *arguments], stdout=subprocess.PIPE, text=True)


def _hear(process: "subprocess.Popen[str]", event: str) -> dict[str, Any]:
    """The next line, which must tell of that event."""
    line: dict[str, Any] = json.loads(_output(process).readline() or "{}")
    if line.get("event") != event:
        raise LonglookError(f"the probe failed: {line.get('reason', 'it said nothing')}")
    return line


def _output(process: "subprocess.Popen[str]") -> IO[str]:
    if process.stdout is None:
        raise AssertionError("the probe was started with a pipe")
    return process.stdout


def _end(process: "subprocess.Popen[str]") -> None:
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _output(process).close()


def _read(path: Path) -> "NDArray[np.void]":
    import numpy as np

    arrivals: NDArray[np.void] = np.fromfile(path, np.dtype(list(_RECORD)))
    return arrivals
