"""Segments that a kernel's TCP sent again although they arrived, by sequence in the link's log. Pure.

The kernel does not log which segment it sends again; the link's log shows it. A retransmission is spurious if every
byte in it had been sent before in segments that left the link whole.
"""

import numpy as np

from longlook.timeline.events import EventKind
from longlook.timeline.normalise.datagrams import Datagrams
from longlook.timeline.normalise.event_rows import event_table
from longlook.timeline.normalise.placement import TracePlace
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows
from longlook.timeline.normalise.spurious import Losses

_NS_PER_S = 1e9
_SEQUENCES = 1 << 32


def find_spurious_segments(vantage: str, place: TracePlace, rows: Rows, sent: Datagrams) -> Losses:
    """Return the segments that a sender declared lost and the link delivered.

    `rows` are one connection's at one end; `sent` is what that end sent. A retransmission belongs to the kernel's last
    one before it reached the link; tail loss probes declare nothing. Nothing is found without the tracepoint of
    retransmissions, as counters have no times.
    """
    again = rows.kind(EventKind.PACKET_RETRANSMITTED)
    again_ns = again["time_ns"][np.isnan(again.value())]
    declared_ns = np.intersect1d(again_ns, rows.kind(EventKind.PACKET_LOST)["time_ns"])
    data = sent.take(sent.size_bytes > 0)
    begins = _unwrapped(data.sequence)
    ends = begins + data.size_bytes
    highest = np.maximum.accumulate(np.append(begins[:1], ends))[:-1]
    times_ns, numbers, sizes, late_s = [], [], [], []
    resent = 0
    for index in np.flatnonzero(begins < highest).tolist():
        cause = int(np.searchsorted(again_ns, data.arrival_ns[index], side="right")) - 1
        if cause < 0 or again_ns[cause] not in declared_ns:
            continue
        resent += 1
        begin, end = int(begins[index]), int(min(ends[index], highest[index]))
        whole_ns = _delivered_ns(begins[:index], ends[:index], data.departure_ns[:index], begin, end)
        if whole_ns is not None:
            times_ns.append(int(again_ns[cause]))
            numbers.append(int(data.sequence[index]))
            sizes.append(end - begin)
            late_s.append((whole_ns - int(again_ns[cause])) / _NS_PER_S)
    columns = {
        "time_ns": times_ns,
        "source": "link",
        "kind": EventKind.PACKET_SPURIOUS.value,
        "name": "link",
        "packet_number": numbers,
        "size_bytes": sizes,
        "value": late_s,
    }
    counts = {
        "declared": resent,
        "spurious": len(times_ns),
        "lost_at_link": int(np.count_nonzero(~data.delivered)),
    }
    return Losses(event_table(vantage, place, len(times_ns), columns), counts)


def _unwrapped(sequence: Integers) -> Integers:
    """Return sequence numbers that go on after 32 bits, from 0; adjacent ones lie within 2 GiB of each other."""
    steps = np.diff(sequence, prepend=sequence[:1])
    return np.cumsum((steps + _SEQUENCES // 2) % _SEQUENCES - _SEQUENCES // 2)


def _delivered_ns(begins: Integers, ends: Integers, departure_ns: Integers, begin: int, end: int) -> int | None:
    """Return when the last byte of a range had left the link in one of these segments; None if some byte never did."""
    overlapping: Mask = (begins < end) & (ends > begin) & (departure_ns != NULL)
    found = np.flatnonzero(overlapping)
    missing = np.ones(end - begin, np.bool_)
    for index in found[np.argsort(departure_ns[found], kind="stable")].tolist():
        missing[max(0, int(begins[index]) - begin) : int(ends[index]) - begin] = False
        if not missing.any():
            return int(departure_ns[index])
    return None
