"""The outside probe in Rust, for real time: sender and receiver of stamped datagrams, so that no measured time
holds Python's own cost. `link_probe` does the same in Python, which virtual time does not charge for."""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias

from longlook.core import LonglookError, link_program
from longlook.lab import EndpointNamespace, Namespace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arrivals: TypeAlias = "NDArray[np.void]"
"""A row for each datagram: sequence, sent_ns, received_ns (since 1970), size_bytes (IP), ttl, tos, intact."""

SENDER_PRIORITY = 60
"""Above the router's, so that a due packet is stamped and sent without a wait in between."""
FLOOD_PRIORITY = 40
"""Below the router's: a sender without a pause must not keep the router from its work. 0 is none."""
_RECEIVER_PRIORITY = 45
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
class ProbePacket:
    """A packet to send: nanoseconds from the start, bytes of the IP packet, and the sender's port (0 or 1)."""

    offset_ns: int
    size_bytes: int
    flow: int = 0


class ProbeProcess:
    """A running `longlook-link probe`, which reports in JSON lines; LonglookError if it reports another event."""

    def __init__(self, namespace: Namespace, arguments: Sequence[str]) -> None:
        with namespace.inside():
            self._process = subprocess.Popen(
                [link_program().path, "probe", *arguments], stdout=subprocess.PIPE, text=True
            )

    def read_event(self, event: str) -> dict[str, Any]:
        """Return the next line, which must report that event."""
        line: dict[str, Any] = json.loads(self._output.readline() or "{}")
        if line.get("event") != event:
            raise LonglookError(f"the probe failed: {line.get('reason', 'it printed nothing')}")
        return line

    def stop(self) -> None:
        """Ask it to finish."""
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Wait for its end, and kill it if it does not end in time."""
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    @property
    def _output(self) -> IO[str]:
        if self._process.stdout is None:
            raise AssertionError("the probe was started with a pipe")
        return self._process.stdout


class Receiver:
    """`longlook-link probe receive` in a namespace; a context manager. After it, `arrivals` has a row per datagram."""

    def __init__(self, namespace: Namespace, folder: Path) -> None:
        self._namespace, self._file = namespace, folder / "arrivals.bin"
        self.arrivals: Arrivals
        self.socket_drops = 0

    def __enter__(self) -> Self:
        self._process = ProbeProcess(
            self._namespace, ["receive", "--out", str(self._file), "--fifo", str(_RECEIVER_PRIORITY)]
        )
        try:
            self._process.read_event("ready")
        except BaseException:
            self._process.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.stop()
            if kind is None:
                self.socket_drops = int(self._process.read_event("received")["socket_drops"])
                self.arrivals = _read(self._file)
        finally:
            self._process.end()
            self._file.unlink(missing_ok=True)


def send_regularly(
    side: EndpointNamespace,
    count: int,
    packets_per_s: float,
    size_bytes: int,
    group: int = 1,
    *,
    priority: int = SENDER_PRIORITY,
) -> None:
    """Send numbered datagrams at a rate, `group` at a time; rate 0: as fast as possible."""
    arguments = ["--count", str(count), "--rate", str(packets_per_s), "--size", str(size_bytes), "--group", str(group)]
    _send(side, arguments, priority=priority)


def send_by_schedule(
    side: EndpointNamespace,
    packets: Sequence[ProbePacket],
    folder: Path,
    *,
    priority: int = SENDER_PRIORITY,
    tos: int = 0,
) -> "NDArray[np.uint64]":
    """Send each packet at its time; return when each was sent, in nanoseconds since 1970."""
    import numpy as np

    schedule, stamps = folder / "schedule.txt", folder / "stamps.bin"
    schedule.write_text("".join(f"{packet.offset_ns} {packet.size_bytes} {packet.flow}\n" for packet in packets))
    arguments = ["--schedule", str(schedule), "--out", str(stamps), "--tos", str(tos)]
    _send(side, arguments, priority=priority)
    return np.fromfile(stamps, "<u8")


def stream_bps(sender: EndpointNamespace, receiver: EndpointNamespace, seconds: float, skip_s: float = 1.0) -> float:
    """Return the rate of one TCP connection in bit/s over that time, without its first `skip_s` seconds."""
    address = f"{receiver.end.address}:{_PORT}"
    taking = ProbeProcess(receiver.namespace, ["stream-receive", "--at", address, "--skip", str(skip_s)])
    try:
        taking.read_event("ready")
        giving = ProbeProcess(sender.namespace, ["stream-send", "--to", address, "--seconds", str(seconds)])
        try:
            return float(taking.read_event("received")["bits_per_second"])
        finally:
            giving.end()
    finally:
        taking.end()


def _send(side: EndpointNamespace, arguments: Sequence[str], *, priority: int) -> None:
    common = ["send", "--to", f"{side.end.peer_address}:{_PORT}", "--fifo", str(priority)]
    process = ProbeProcess(side.namespace, [*common, *arguments])
    try:
        sent = process.read_event("sent")
    finally:
        process.end()
    if sent["unsent"]:
        raise LonglookError(f"the probe's device had no room for {sent['unsent']} packets")


def _read(path: Path) -> Arrivals:
    import numpy as np

    arrivals: Arrivals = np.fromfile(path, np.dtype(list(_RECORD)))
    return arrivals
