"""One direction of a trial as the link saw it, as arrays in order of arrival. Pure.

The bottleneck is the one stage with a rate and a queue. A packet is *served* while its bits pass it: from the end of
its wait, which the link's log has, until it left, less the delay behind the bottleneck. If jitter or reordering behind
the bottleneck hides that end, it is the beginning plus the packet's time at the rate. If the direction has no
bottleneck, packets are served in no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from longlook.core import BOTTLENECKS, MAIN, Json, Stage, Trial, Vantage
from longlook.explain.facts.columns import NEVER, Booleans, Integers, are, codes, integers
from longlook.network import KIND as SURGERY
from longlook.timeline import (
    OVER_SECOND,
    Competition,
    Kind,
    Timeline,
    are_marked,
    new_payload_bytes,
    packet_of_same_bytes,
    server_of,
)

RANDOM_LOSS = "loss"
"""The reason of a random loss, also if the losses of a trial were planned to integrate them."""
DELIVERED, DROPPED, QUEUED = 0, 1, 2
"""The values of `LinkFacts.fate`; a queued packet was still inside at the end of the trial."""

_FATES = {
    str(Kind.PACKET_DELIVERED): DELIVERED,
    str(Kind.PACKET_DROPPED): DROPPED,
    str(Kind.PACKET_QUEUED): QUEUED,
}
_HIDING = ("jitter", "reorder")
_NS_PER_S = 10**9
_QUIC_BYTES = 19
"""The least bytes of a QUIC packet with a short header beside frames and its connection id. They are 1 of header, 2 of
packet number and 16 of authentication tag (RFC 9000, 17.3.1, and RFC 9001, 5.3).
"""

_SMALLEST_MTU_BYTES = 1200
"""The UDP payload that every path of QUIC takes (RFC 9000, 14)."""
ACKNOWLEDGEMENT_BYTES = 56
"""A QUIC packet with a short header and less UDP payload than this is taken to hold an acknowledgement alone.

The largest that the stacks here send with two or three ranges and no data; a request or the first bytes of an answer
have more."""


@dataclass(frozen=True)
class LinkFacts:
    """The packets of one direction, in order of arrival, a copy behind its original; arrays of shape (N,).

    Times are ns since the trial's start, NEVER for no time. The names of `flow` and `reason` codes are in `flows` and
    `reasons`; -1 is none.
    """

    direction: str
    sequence: Integers  # number in the direction, from 0; a copy has its original's
    copy: Booleans  # made by the link
    same_as: Integers  # QUIC: number of an earlier packet of the same bytes, which its sender sent twice; -1: none
    arrival_ns: Integers
    departure_ns: Integers  # NEVER if it did not leave
    reached_ns: Integers  # it reached the bottleneck's queue: later than its arrival where there is an access delay
    service_start_ns: Integers  # at the bottleneck; NEVER if it did not leave
    service_end_ns: Integers
    size_bytes: Integers  # IP
    payload_bytes: Integers  # TCP or UDP
    overhead_bytes: Integers  # headers: IP, TCP or UDP, and QUIC's own; the whole packet if it has no data
    useful_bytes: Integers  # the rest, as far as no earlier packet delivered it (QUIC: the same bytes did not)
    fate: Integers  # DELIVERED, DROPPED or QUEUED
    reason: Integers  # why it was dropped
    reasons: tuple[str, ...]
    marked: Booleans  # delivered, with a mark of the link's queue (ECN)
    flow: Integers
    flows: tuple[str, ...]
    ours: Booleans  # of the measured load: neither priming nor a competitor's
    is_tcp: Booleans
    handshake: Booleans  # a QUIC packet with a long header, other than 0-RTT
    early: Booleans  # a QUIC packet with 0-RTT data
    transport_sequence: Integers  # TCP, 32 bits
    acknowledgement: Integers  # TCP, 32 bits
    rate_bps: float | None  # of the bottleneck; None: none, or it varies
    delay_ns: int  # behind the bottleneck at least

    @property
    def delivered(self) -> Booleans:
        """Which packets left the link."""
        found: Booleans = self.fate == DELIVERED
        return found

    @property
    def carries_data(self) -> Booleans:
        """Which packets hold more than headers and acknowledgements (TCP: any payload; QUIC: `overhead_bytes`)."""
        found: Booleans = self.overhead_bytes < self.size_bytes
        return found

    def of_flow(self, flow: str) -> Booleans:
        """Return which packets belong to a flow."""
        code = self.flows.index(flow) if flow in self.flows else -2
        found: Booleans = self.flow == code
        return found

    def is_ours(self, column: pa.ChunkedArray) -> Booleans:
        """Return which rows of other tables are about the load, by a column of flows; a null means that they are."""
        own = {self.flows[code] for code in np.unique(self.flow[self.ours & (self.flow >= 0)]).tolist()}
        others = {self.flows[code] for code in np.unique(self.flow[~self.ours & (self.flow >= 0)]).tolist()} - own
        return ~are(column, *others)

    @classmethod
    def of(cls, timeline: Timeline, trial: Trial, direction: str, where: Vantage = Vantage.LINK) -> "LinkFacts":
        """Return the facts of a direction (`up`, `down`) of a trial's timeline, computed once per timeline.

        `where` is the link towards the client, or the one behind the middle (`Vantage.BEHIND`).
        """
        key = f"{where} facts {direction}"
        if key not in timeline.derived:
            timeline.derived[key] = _facts(timeline, trial, direction, where)
        known: LinkFacts = timeline.derived[key]
        return known


def _facts(timeline: Timeline, trial: Trial, direction: str, where: Vantage) -> LinkFacts:
    rows = timeline.select(list(_FATES), where, priming=None)
    rows = rows.filter(pa.array(are(rows["direction"], direction)))
    details = _plain(rows["detail"])
    copy = np.char.find(details, "copy ") >= 0  # behind what was changed of it
    arrival_ns = integers(rows["arrival_ns"], NEVER)
    sequence = integers(rows["sequence"], -1)
    if (sequence < 0).any():  # logs of version 1 have no numbers
        sequence = np.argsort(np.argsort(arrival_ns, kind="stable"), kind="stable").astype(np.int64)
    order = np.lexsort((copy, sequence))
    rows = rows.take(pa.array(order))
    kind, kinds = codes(rows["kind"])
    fate = np.array([_FATES.get(name, -1) for name in kinds], np.int64)[kind]
    link = trial.links[MAIN if where is Vantage.LINK else where]
    stages = link.down if direction == "down" else link.up
    reason, reasons = codes(rows["name"])
    if trial.stratum:  # its random losses were planned, and the link names the stage that made them
        reasons = tuple(RANDOM_LOSS if name == SURGERY else name for name in reasons)
    flow, flows = codes(rows["flow"])
    size, payload = integers(rows["size_bytes"]), integers(rows["payload_bytes"])
    is_tcp = are(rows["protocol"], "tcp")
    departure_ns = np.where(fate == DELIVERED, integers(rows["time_ns"]), NEVER)
    wait_ns = np.rint(rows["value"].combine_chunks().fill_null(0.0).to_numpy(zero_copy_only=False) * 1e9)
    wait_ns = wait_ns.astype(np.int64)
    start_ns, end_ns = _service(rows, stages, arrival_ns[order], wait_ns, departure_ns, size)
    delayed = any(stage.kind == "access" for stage in stages) & (start_ns < NEVER)
    overhead = _overhead(rows, size, payload, flow, fate == DELIVERED)
    number, same_as = sequence[order], _same_as(details[order])
    own_link = np.where(np.char.find(details[order], OVER_SECOND) >= 0, number.max(initial=0) + 1, 0)
    first = np.where(copy[order], -1, np.where(same_as < 0, number, same_as) + own_link)
    return LinkFacts(
        direction=direction,
        sequence=number,
        copy=copy[order],
        same_as=same_as,
        arrival_ns=arrival_ns[order],
        departure_ns=departure_ns,
        reached_ns=np.where(delayed, np.maximum(start_ns - wait_ns, arrival_ns[order]), arrival_ns[order]),
        service_start_ns=start_ns,
        service_end_ns=end_ns,
        size_bytes=size,
        payload_bytes=payload,
        overhead_bytes=overhead,
        useful_bytes=_useful(rows, size - overhead, is_tcp, first, np.unique(first[same_as >= 0]), departure_ns),
        fate=fate,
        reason=np.where(fate == DROPPED, reason, -1),
        reasons=reasons,
        marked=are_marked(rows) & (fate == DELIVERED),
        flow=flow,
        flows=flows,
        ours=_ours(timeline, rows, flow, flows),
        is_tcp=is_tcp,
        handshake=are(rows["quic"], "initial", "handshake", "retry", "version_negotiation"),
        early=are(rows["quic"], "0rtt"),
        transport_sequence=integers(rows["transport_sequence"]),
        acknowledgement=integers(rows["acknowledgement"]),
        rate_bps=_constant_rate(stages),
        delay_ns=_delay_ns(stages) or 0,
    )


def _plain(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.asarray(column.cast(pa.string()).fill_null("").to_pylist(), dtype=np.str_)


def _ours(timeline: Timeline, rows: pa.Table, flow: Integers, flows: tuple[str, ...]) -> Booleans:
    measured = ~rows["priming"].combine_chunks().to_numpy(zero_copy_only=False)
    competition = Competition.of(timeline)
    if competition is None:
        return np.asarray(measured, np.bool_)
    servers = {competition.flows[index].server_address for index in competition.subject}
    subject = np.array([server_of(name) in servers for name in flows] + [False], np.bool_)
    return np.asarray(measured & subject[flow], np.bool_)


def _same_as(details: np.ndarray[tuple[int], np.dtype[np.str_]]) -> Integers:
    """Return the number of the packet that had the same bytes, by what the link said of each; -1 for none.

    The link's own copies have it from their originals, and count as copies.
    """
    texts, inverse = np.unique(details, return_inverse=True)
    first = [packet_of_same_bytes(text) for text in texts.tolist()]
    return np.array([-1 if same is None else same for same in first], np.int64)[inverse]


def _useful(
    rows: pa.Table, data: Integers, is_tcp: Booleans, first: Integers, again: Integers, departure_ns: Integers
) -> Integers:
    """Return the bytes of data that no earlier departure delivered; 0 for packets that did not leave.

    `first` stands for the first packet of the same bytes, for QUIC, and is -1 for copies, which deliver nothing.
    `again` has the packets whose bytes were sent more than once.
    """
    useful = np.zeros(len(data), np.int64)
    left = np.flatnonzero(departure_ns < NEVER)
    left = left[np.argsort(departure_ns[left], kind="stable")]
    fresh = new_payload_bytes(rows.take(pa.array(left)))
    new = ~np.isin(first[left], again)
    new[np.unique(first[left], return_index=True)[1]] = True
    useful[left] = np.where(is_tcp[left], fresh, np.where(new & (first[left] >= 0), data[left], 0))
    return useful


def _overhead(rows: pa.Table, size: Integers, payload: Integers, flow: Integers, delivered: Booleans) -> Integers:
    """Return the bytes of each packet that are no data of streams, as far as its headers tell."""
    form = rows["quic"]
    short, long = are(form, "short", "0rtt"), are(form, "initial", "handshake", "retry", "version_negotiation")
    headers = size - payload + np.where(short, _QUIC_BYTES + _connection_id_bytes(rows), 0)
    whole = long | (short & (payload < ACKNOWLEDGEMENT_BYTES)) | (payload == 0)
    for code in np.unique(flow[short]).tolist():
        own = np.flatnonzero(short & (flow == code) & ~whole)
        whole[own] = _probes(payload[own], delivered[own])
    return np.where(whole, size, np.minimum(headers, size))


def _probes(payload: Integers, delivered: Booleans) -> Booleans:
    """Return which packets search for the path's MTU (RFC 9000, 14.4): padding, larger than any that was delivered.

    The packet behind it is smaller, as data goes by the old size until the probe is acknowledged. The last packet is
    one if packets of a usable size arrived before.
    """
    arrived = np.maximum.accumulate(np.where(delivered, payload, 0))
    before = np.concatenate([[0], arrived[:-1]])
    following = np.append(payload[1:], 0 if before[-1:].max(initial=0) >= _SMALLEST_MTU_BYTES else NEVER)
    return np.asarray((payload > np.maximum(before, _SMALLEST_MTU_BYTES)) & (following < payload), np.bool_)


def _connection_id_bytes(rows: pa.Table) -> Integers:
    lengths, texts = codes(rows["connection_id"])
    return np.array([len(text) // 2 for text in texts] + [0], np.int64)[lengths]


def _service(
    rows: pa.Table,
    stages: tuple[Stage, ...],
    arrival_ns: Integers,
    wait_ns: Integers,
    departure_ns: Integers,
    size: Integers,
) -> tuple[Integers, Integers]:
    """Return begin and end of each packet's service at the bottleneck; services never overlap.

    A service that takes longer than at the smallest rate of the bottleneck, but 0, begins later: the rest it waited.
    """
    left = departure_ns < NEVER
    start, end = np.full(len(size), NEVER), np.full(len(size), NEVER)
    if not any(stage.kind in BOTTLENECKS for stage in stages):
        start[left] = end[left] = arrival_ns[left]
        return start, end
    begun = arrival_ns + wait_ns
    rate, slowest, delay_ns = _constant_rate(stages), _slowest_rate(stages), _delay_ns(stages)
    lasts = np.zeros(len(size), np.int64) if slowest is None else _times_ns(size, slowest)
    due_ns = integers(rows["due_ns"], NEVER)
    hidden = delay_ns is None or any(stage.kind in _HIDING for stage in stages)
    ended = begun + lasts if hidden else due_ns - (delay_ns or 0)
    if rate is not None and any(stage.kind == "access" for stage in stages):
        begun = ended - lasts  # the access delay, which the log does not have, lies before the wait
    elif slowest is not None:
        begun = np.maximum(begun, ended - lasts)
    start[left], end[left] = begun[left], np.maximum(begun, ended)[left]
    order = np.flatnonzero(left)[np.argsort(start[left], kind="stable")]
    before = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(end[order])[:-1]])
    start[order] = np.maximum(start[order], before)
    end[order] = np.maximum(end[order], start[order])
    return start, end


def _times_ns(size: Integers, rate_bps: float) -> Integers:
    """Return how long packets take at a rate, rounded up."""
    return np.asarray(np.ceil(size * 8 * _NS_PER_S / rate_bps), np.int64)


def _parameter(stages: tuple[Stage, ...], kinds: tuple[str, ...], name: str) -> Json:
    found = [stage.parameters.get(name) for stage in stages if stage.kind in kinds]
    return found[0] if len(found) == 1 else None


def _constant_rate(stages: tuple[Stage, ...]) -> float | None:
    rate = _parameter(stages, BOTTLENECKS, "rate_bps")
    return float(rate) if isinstance(rate, int | float) else None


def _slowest_rate(stages: tuple[Stage, ...]) -> float | None:
    """Return the smallest rate in bit/s that is not 0; None if it is drawn or comes from a trace."""
    rate = _parameter(stages, BOTTLENECKS, "rate_bps")
    if isinstance(rate, Mapping) and "steps" in rate:
        return min((float(value) for _, value in rate["steps"] if value > 0), default=None)
    return _constant_rate(stages)


def _delay_ns(stages: tuple[Stage, ...]) -> int | None:
    """Return the delay behind the bottleneck, 0 without such a stage, or None if it varies."""
    delays = [stage.parameters.get("delay_ns") for stage in stages if stage.kind == "delay"]
    return sum(int(str(each)) for each in delays) if all(isinstance(each, int) for each in delays) else None
