"""Loads written by hand, packet by packet: a link that serves packets one after the other, and what its ends logged.

Times are milliseconds after the trial's start. At 10 Mbit/s a packet of PACKET_BYTES takes 1 ms; 47 of its bytes are
headers (28 of IP and UDP, 19 of QUIC; TCP: 52, as its payload is smaller), so that 37.6 µs of it are overhead.
"""

from dataclasses import dataclass, field
from typing import Any

from longlook.core.model import Link, Stage, Trial
from longlook.explain.ledger import Ledger, make_ledger
from longlook.timeline.timeline import Timeline, table_of_rows
from tests.data.events import events_of, row
from tests.data.trials import trial

MS = 1_000_000
PACKET_BYTES, PAYLOAD_BYTES = 1250, 1222
OVERHEAD_MS, USEFUL_MS = 0.0376, 0.9624
DELAY_MS = 10.0
QUIC = "udp 10.8.0.1:40000 10.8.0.2:443"
TCP = "tcp 10.8.0.1:40001 10.8.0.2:443"


@dataclass
class Scene:
    """One direction with a bottleneck, `down`, and one that only delays, `up`; each method adds rows."""

    rate_bps: Any = 10_000_000
    flow: str = QUIC
    more_stages: tuple[Stage, ...] = ()
    rows: list[dict[str, Any]] = field(default_factory=list)
    logged: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    _free_ms: float = 0.0
    _sequence: dict[str, int] = field(default_factory=lambda: {"up": 0, "down": 0})

    def down(self, at_ms: float, size: int = PACKET_BYTES, *, begin_ms: float | None = None, **columns: Any) -> float:
        """A packet from the server; returns when it arrives at the client. `begin_ms`: its service, if not at once."""
        begin = max(at_ms, self._free_ms) if begin_ms is None else begin_ms
        rate = self.rate_bps if isinstance(self.rate_bps, int) else self.rate_bps["steps"][0][1]
        self._free_ms = begin + size * 8e3 / rate
        left = self._free_ms + DELAY_MS
        self._packet("down", at_ms, left, size, value=(begin - at_ms) / 1e3, **columns)
        return left

    def up(self, at_ms: float, size: int = 128, **columns: Any) -> float:
        """A packet from the client; returns when it arrives at the server."""
        self._packet("up", at_ms, at_ms + DELAY_MS, size, value=0.0, **columns)
        return at_ms + DELAY_MS

    def acknowledge(self, at_ms: float) -> float:
        """A packet from the client without data; returns when it arrives at the server."""
        return self.up(at_ms, 60)

    def drop(self, at_ms: float, size: int = PACKET_BYTES, direction: str = "down", **columns: Any) -> None:
        """A packet that the link drops when it arrives."""
        self._packet(direction, at_ms, at_ms, size, kind="packet_dropped", name="loss", **columns)

    def client(self, at_ms: float, kind: str, **columns: Any) -> None:
        """A row of the client."""
        self.rows.append({"time_ns": ns(at_ms), "vantage": "client", "kind": kind, "priming": False, **columns})

    def log(self, at_ms: float, kind: str, **columns: Any) -> None:
        """An event of the server, unless `vantage` says otherwise."""
        source = "qlog" if self.flow.startswith("udp") else "tcp"
        self.logged.append(row(ns(at_ms), kind, **{"flow": self.flow, "source": source, **columns}))

    def fetched(self, asked: float, first: float, done: float, path: str = "/download.bin", size: int = 10_000) -> None:
        """An object as the client reports it."""
        for at_ms, kind in ((asked, "request_sent"), (first, "first_byte"), (done, "object_done")):
            self.client(at_ms, kind, name=path, flow=self.flow, size_bytes=size if kind == "object_done" else None)

    def opened(self, started: float, ready: float, name: str = "cold") -> None:
        """A connection as the client reports it."""
        self.client(started, "connection_started", flow=self.flow)
        self.client(ready, "handshake_done", flow=self.flow, name=name)

    @property
    def trial(self) -> Trial:
        """A trial over this link."""
        rate = Stage("rate", {"rate_bps": self.rate_bps, "queue_bytes": 10**9})
        delay = Stage("delay", {"delay_ns": ns(DELAY_MS)})
        return trial(link=Link((delay,), (*self.more_stages, rate, delay)))

    def timeline(self) -> Timeline:
        """All rows in order of time, with the events if there are any."""
        rows = sorted(self.rows, key=lambda each: each["time_ns"])
        made = Timeline(table_of_rows(rows)).with_metadata(self.metadata)
        logged = sorted(self.logged, key=lambda each: each["time_ns"])
        return made.with_events(events_of(*logged)) if logged else made

    def _packet(self, direction: str, arrival_ms: float, left_ms: float, size: int, **columns: Any) -> None:
        flow = columns.get("flow", self.flow)
        quic = None if flow.startswith("tcp") else "short"
        self.rows.append(
            {
                "time_ns": ns(left_ms),
                "due_ns": ns(left_ms),
                "arrival_ns": ns(arrival_ms),
                "vantage": "link",
                "kind": "packet_delivered",
                "priming": False,
                "flow": flow,
                "protocol": flow[:3],
                "direction": direction,
                "size_bytes": size,
                "payload_bytes": size - (28 if quic else 52),
                "quic": quic,
                "sequence": self._sequence[direction],
                **columns,
            }
        )
        self._sequence[direction] += 1


def ns(value_ms: float) -> int:
    """Milliseconds as nanoseconds."""
    return round(value_ms * MS)


def window_limited(packets: int, window: int, rate_bps: int = 10_000_000) -> Scene:
    """A download by a sender whose window is fixed: a handshake of one round trip, a request, data, acknowledgements.

    A packet is acknowledged when it arrives. Nothing takes time but the link.
    """
    scene = Scene(rate_bps)
    asked_at = scene.up(0.0, 1250, quic="initial")
    secure = scene.down(asked_at, 1250, quic="initial")
    scene.opened(0.0, secure)
    credit = [scene.up(secure)] * window
    arrived = []
    in_flight = 0
    for number in range(packets):
        sent = credit[number]
        arrived.append(scene.down(sent))
        credit.append(scene.acknowledge(arrived[-1]))
        in_flight = sum(moment > sent for moment in credit[window:])
        common = {"cwnd_bytes": window * PAYLOAD_BYTES, "srtt_ns": ns(2 * DELAY_MS)}
        scene.log(sent, "metrics", in_flight_bytes=in_flight * PAYLOAD_BYTES, **common)
        left = sum(moment > credit[-1] for moment in credit[window:])
        scene.log(credit[-1], "metrics", in_flight_bytes=left * PAYLOAD_BYTES, **common)
    scene.log(0.0, "state", name="slow_start")
    scene.fetched(0.0, arrived[0], arrived[-1], size=packets * 1200)
    return scene


def ledger_of(scene: Scene, *, live: bool = False) -> Ledger:
    """The ledger of a scene that has one."""
    found = make_ledger(scene.timeline(), scene.trial, live=live)
    assert found is not None
    return found


def totals_ms(scene: Scene, *, live: bool = False) -> dict[str, float]:
    """The time of a scene in each class, in ms."""
    return {str(name): total / 1e6 for name, total in ledger_of(scene, live=live).totals().items()}
