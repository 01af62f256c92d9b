"""The results of a trial as proofs read them: its run, its programs' lines, the link's packets and the qlogs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import LOAD_FILE, Outcome, Run, Trial, files, flow_folder
from longlook.instruments.conformance.qlogs import Event, read_qlog
from longlook.timeline import DAMAGE, LINK_LOG, Kind, PacketLog, Timeline, normalise_trial, read_link_log

Line = Mapping[str, Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_PACKETS = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED, Kind.PACKET_QUEUED)
_SYN_ACK = 0x12
_LONG = frozenset({"initial", "0rtt", "handshake", "retry", "version_negotiation"})


@dataclass(frozen=True)
class RouterPackets:
    """The measured connection's packets at the router, in order of arrival; all arrays have one entry a packet.

    Neither sender is delayed before the router: a packet arrives when it is sent (`sent_s`), and `left_s` is when it is
    received, NaN if it was dropped or had not left. Sizes are bytes of UDP or TCP payload.
    """

    sent_s: Floats
    left_s: Floats
    up: Flags
    payload_bytes: Integers
    queue_bytes: Integers  # in the bottleneck on arrival
    ecn: Integers  # codepoint; 0 where unknown
    short: Flags  # no long header of QUIC: after the handshake, whose fixed bit some ends grease (RFC 9287)

    def chosen(self, mask: Flags) -> "RouterPackets":
        """Return the packets that a mask selects."""
        return RouterPackets(
            sent_s=self.sent_s[mask],
            left_s=self.left_s[mask],
            up=self.up[mask],
            payload_bytes=self.payload_bytes[mask],
            queue_bytes=self.queue_bytes[mask],
            ecn=self.ecn[mask],
            short=self.short[mask],
        )

    def of(self, sender: str) -> "RouterPackets":
        """Return the packets that the `client` or the `server` sent."""
        return self.chosen(self.up if sender == "client" else ~self.up)

    def __len__(self) -> int:
        return len(self.sent_s)


@dataclass(frozen=True)
class Seen:
    """Everything observed of one finished trial. Roles are `client` and `server`."""

    run: Run
    lines: Mapping[str, Sequence[Line]]
    packets: RouterPackets
    qlogs: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    logs: Mapping[str, int] = field(default_factory=dict)  # qlog files by role
    moved_s: float | None = None  # from the link's first packet to the first from another address of the client
    answers: Sequence[int] = ()  # the flags bytes of TCP's SYN-ACKs at the router
    load: Sequence[Line] = ()  # the laboratory's lines of a load whose client prints none

    @property
    def ok(self) -> bool:
        """Return whether everything arrived over the declared protocol, in the declared state."""
        return self.run.outcome is Outcome.OK

    @property
    def why(self) -> str:
        """Return the outcome and its reason."""
        return f"{self.run.outcome}: {self.run.reason or 'no reason given'}"

    def events(self, role: str, event: str) -> list[Line]:
        """Return a program's lines of one kind."""
        return [line for line in self.lines.get(role, ()) if line.get("event") == event]


def read_seen(folder: Path, trial: Trial, run: Run) -> Seen:
    """Return the evidence in a trial's folder; files that are missing or damaged give none, so that a proof fails."""
    qlogs = {role: _files(folder / "qlog" / role) for role in ("client", "server")}
    own = flow_folder(folder, trial.each_flow()[0])
    load = _lines(own / LOAD_FILE)
    link_log = _link_log(folder / LINK_LOG)
    return Seen(
        run=run,
        lines={role: _lines(own / f"{role}.jsonl") for role in ("client", "server")},
        packets=packets_of(normalise_trial(folder, trial, run)),
        qlogs={role: [event for file in files for event in read_qlog(file)] for role, files in qlogs.items()},
        logs={role: len(files) for role, files in qlogs.items()},
        moved_s=_moved_s(link_log),
        load=load,
        answers=_answers(link_log),
    )


def _link_log(path: Path) -> PacketLog | None:
    try:
        return read_link_log(path)
    except DAMAGE:
        return None


def _moved_s(log: PacketLog | None) -> float | None:
    if log is None:
        return None
    flows, numbers = log.flows(), log.flow_numbers()
    others = [flow.number for flow in flows if flow.client_address != flows[0].client_address]
    arrival_ns = log.records["arrival_ns"].astype(np.int64)
    moved = arrival_ns[np.isin(numbers, others)]
    return None if len(moved) == 0 else float(moved.min() - arrival_ns.min()) / 1e9


def _answers(log: PacketLog | None) -> list[int]:
    """Return the flags bytes of the SYN-ACKs in a trial's link log; none if there is no log."""
    if log is None:
        return []
    flags = np.array(log.records["tcp_flags"], dtype=np.int64)
    found: list[int] = flags[flags & _SYN_ACK == _SYN_ACK].tolist()
    return found


def packets_of(timeline: Timeline) -> RouterPackets:
    """Return the packets of a timeline, without packets of priming connections, which only obtain a session ticket."""
    table = timeline.select(_PACKETS, "link").sort_by("arrival_ns")
    table = table.filter(pc.is_in(table["protocol"].cast(pa.string()), value_set=pa.array(["tcp", "udp"])))  # no ICMP
    kinds = np.array(table["kind"].to_pylist(), dtype=object)
    left_s = np.array(table["time_ns"].to_pylist(), dtype=np.float64) / 1e9
    left_s[kinds != Kind.PACKET_DELIVERED] = np.nan
    return RouterPackets(
        sent_s=np.array(table["arrival_ns"].to_pylist(), dtype=np.float64) / 1e9,
        left_s=left_s,
        up=np.array([value == "up" for value in table["direction"].to_pylist()], dtype=np.bool_),
        payload_bytes=np.array(table["payload_bytes"].to_pylist(), dtype=np.int64),
        queue_bytes=np.array(table["queue_bytes"].to_pylist(), dtype=np.int64),
        ecn=np.array([value or 0 for value in table["ecn"].to_pylist()], dtype=np.int64),
        short=np.array([value not in _LONG for value in table["quic"].to_pylist()], dtype=np.bool_),
    )


def _files(folder: Path) -> list[Path]:
    return sorted(filter(files.is_regular, folder.rglob("*"))) if folder.is_dir() else []


def _lines(file: Path) -> list[Line]:
    """Return the JSON lines of a program; a trial whose program printed anything else is not ok in the first place."""
    try:
        raw = files.read_text(file, errors="replace").splitlines()
    except FileNotFoundError:
        return []
    found: list[Line] = []
    for text in raw:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            found.append(line)
    return found
