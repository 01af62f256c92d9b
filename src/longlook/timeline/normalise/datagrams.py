"""The link's view of one connection in one direction: each datagram once, in the order of sending."""

from dataclasses import dataclass

import numpy as np

from longlook.core.model import Vantage
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows
from longlook.timeline.timeline import Kind, Timeline

SENT_BY = {Vantage.CLIENT: "up", Vantage.SERVER: "down"}
"""The direction in which the link carries what each end sends."""
RECEIVED_BY = {Vantage.CLIENT: "down", Vantage.SERVER: "up"}

SHORT = "short"
_KINDS = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED, Kind.PACKET_QUEUED)
_COLUMNS = (
    *("time_ns", "kind", "flow", "direction", "payload_bytes", "transport_sequence", "arrival_ns", "detail"),
    *("quic", "connection_id", "sequence"),
)
_DAMAGED = "a bit flipped"


@dataclass(frozen=True)
class Datagrams:
    """Datagrams (or TCP segments) of a connection; arrays of one length, shape (datagrams,)."""

    arrival_ns: Integers
    """The time at which it reached the link."""
    departure_ns: Integers
    """The time at which the first copy left the link whole; NULL if none did."""
    size_bytes: Integers
    """The payload of UDP or TCP."""
    forms: tuple[str | None, ...]
    form: Integers
    """Index into `forms`: the QUIC header of the datagram's first packet."""
    sequence: Integers
    """TCP's sequence number, NULL for UDP."""

    def __len__(self) -> int:
        """Return the number of datagrams."""
        return len(self.arrival_ns)

    @property
    def delivered(self) -> Mask:
        """Return which left the link undamaged."""
        left: Mask = self.departure_ns != NULL
        return left

    def take(self, chosen: Mask | Integers) -> "Datagrams":
        """Return some of them, or all in another order."""
        arrays = (self.arrival_ns[chosen], self.departure_ns[chosen], self.size_bytes[chosen])
        return Datagrams(*arrays, self.forms, self.form[chosen], self.sequence[chosen])

    def in_order_of_departure(self) -> "Datagrams":
        """Return those that left the link, in the order in which the other end receives them."""
        left = np.flatnonzero(self.delivered)
        return self.take(left[np.argsort(self.departure_ns[left], kind="stable")])

    def is_form(self, *forms: str) -> Mask:
        """Return which begin with a header of one of some forms."""
        return np.isin(self.form, [code for code, text in enumerate(self.forms) if text in forms])


class LinkPackets:
    """All packets of a trial's link, by connection."""

    def __init__(self, timeline: Timeline) -> None:
        self._rows: dict[bool, Rows] = {}
        for priming in (False, True):
            self._rows[priming] = Rows.of(timeline.select(_KINDS, "link", priming=priming), _COLUMNS)

    def datagrams(self, flow: str, direction: str, *, priming: bool) -> Datagrams:
        """Return what one end of a connection sent, in order of arrival at the link."""
        rows = self._rows[priming]
        return _datagrams(rows.take(rows.matches("flow", flow) & rows.matches("direction", direction)))

    def flows(self, transport: str) -> list[tuple[str, bool]]:
        """Return every connection of a transport (`udp`, `tcp`) that has a packet: its flow, and whether it is
        priming.
        """
        found = []
        for priming, rows in self._rows.items():
            codes = np.unique(rows["flow"])
            names = [rows.texts["flow"][code] for code in codes if code != NULL]
            found += [(name, priming) for name in names if name.startswith(f"{transport} ")]
        return found

    def flows_to(self, connection_id: str) -> set[tuple[str, bool]]:
        """Return the connections whose client sent an Initial to this destination connection id (hexadecimal)."""
        found = set()
        for priming, rows in self._rows.items():
            first = rows.matches("quic", "initial", "0rtt") & rows.matches("direction", "up")
            first &= rows.matches("connection_id", connection_id[:16])
            codes = np.unique(rows["flow"][first])
            found |= {(rows.texts["flow"][code], priming) for code in codes if code != NULL}
        return found


def _datagrams(rows: Rows) -> Datagrams:
    """Return one datagram for each number of the link; of copies it is the first that left whole."""
    whole = rows.matches("kind", Kind.PACKET_DELIVERED)
    damaged = [code for code, text in enumerate(rows.texts["detail"]) if _DAMAGED in text]
    whole &= ~np.isin(rows["detail"], damaged)
    order = np.lexsort((rows["time_ns"], ~whole, rows["sequence"]))
    _, first = np.unique(rows["sequence"][order], return_index=True)
    chosen = order[first]
    rows, whole = rows.take(chosen), whole[chosen]
    return Datagrams(
        rows["arrival_ns"],
        np.where(whole, rows["time_ns"], NULL),
        rows["payload_bytes"],
        tuple(rows.texts["quic"]),
        rows["quic"],
        rows["transport_sequence"],
    )
