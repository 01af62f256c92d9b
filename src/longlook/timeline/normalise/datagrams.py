"""The link's view of one connection in one direction: each datagram once, in the order of sending."""

from dataclasses import dataclass, replace

import numpy as np

from longlook.core import Trial, Vantage
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows
from longlook.timeline.timeline import Kind, Timeline, packet_of_same_bytes

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
        """Return the datagrams that left the link, in the order in which the other end receives them."""
        left = np.flatnonzero(self.delivered)
        return self.take(left[np.argsort(self.departure_ns[left], kind="stable")])

    def is_form(self, *forms: str) -> Mask:
        """Return which begin with a header of one of some forms."""
        return np.isin(self.form, [code for code, text in enumerate(self.forms) if text in forms])


class LinkPackets:
    """All packets of a trial's link, by connection; of the one behind the middle with `where` (`Vantage.BEHIND`)."""

    def __init__(self, timeline: Timeline, where: Vantage = Vantage.LINK) -> None:
        self._rows: dict[bool, Rows] = {}
        for priming in (False, True):
            self._rows[priming] = Rows.of(timeline.select(_KINDS, where, priming=priming), _COLUMNS)

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


class PathPackets(LinkPackets):
    """All packets of a path of two links with a router between them: they arrive at the first and leave the second."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self._behind = LinkPackets(timeline, Vantage.BEHIND)

    def datagrams(self, flow: str, direction: str, *, priming: bool) -> Datagrams:
        """Return what one end of a connection sent, in order of arrival at the link next to it."""
        near = super().datagrams(flow, direction, priming=priming)
        far = self._behind.datagrams(flow, direction, priming=priming)
        return _through(near, far) if direction == "up" else _through(far, near)


def _through(first: Datagrams, second: Datagrams) -> Datagrams:
    """Return the datagrams of the first link, each with the time at which it left the second.

    A router passes packets on in the order in which they came: what leaves the first link is the next of its size that
    arrives at the second. Copies that the first link made come before the next one leaves.
    """
    left_ns, place = np.full(len(first), NULL), 0
    order = np.flatnonzero(first.delivered)
    for number in order[np.argsort(first.departure_ns[order], kind="stable")].tolist():
        while place < len(second) and second.arrival_ns[place] < first.departure_ns[number]:
            place += 1
        if place < len(second) and second.size_bytes[place] == first.size_bytes[number]:
            left_ns[number] = second.departure_ns[place]
            place += 1
    return replace(first, departure_ns=left_ns)


def links_of(timeline: Timeline, trial: Trial) -> dict[Vantage, LinkPackets]:
    """Return what each end's packets met: the one link, both links of a path, or with a proxy the link next to it."""
    if not trial.has_middle:
        one = LinkPackets(timeline)
        return {Vantage.CLIENT: one, Vantage.SERVER: one}
    if trial.proxy is None:
        both = PathPackets(timeline)
        return {Vantage.CLIENT: both, Vantage.SERVER: both}
    return {Vantage.CLIENT: LinkPackets(timeline), Vantage.SERVER: LinkPackets(timeline, Vantage.BEHIND)}


def _datagrams(rows: Rows) -> Datagrams:
    """Return one datagram for each number of the link; of copies it is the first that left whole.

    A datagram that its sender sent again, byte for byte, counts as a copy: an end logs it once.
    """
    whole = rows.matches("kind", Kind.PACKET_DELIVERED)
    damaged = [code for code, text in enumerate(rows.texts["detail"]) if _DAMAGED in text]
    whole &= ~np.isin(rows["detail"], damaged)
    number = _first_of_its_bytes(rows)
    order = np.lexsort((rows["time_ns"], ~whole, number))
    _, first = np.unique(number[order], return_index=True)
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


def _first_of_its_bytes(rows: Rows) -> Integers:
    """Return the link's number of each packet, or of the earlier one that had the same bytes."""
    number, details = rows["sequence"].copy(), rows["detail"]
    first = {code: packet_of_same_bytes(text) for code, text in enumerate(rows.texts["detail"])}
    again = {code: same for code, same in first.items() if same is not None}
    for place in np.flatnonzero(np.isin(details, list(again))).tolist():
        number[place] = again[int(details[place])]
    return number
