"""One sender's own records, as input for the rules of states. Pure."""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from longlook.timeline.events import EventKind
from longlook.timeline.normalise.rows import NULL, Integers, Mask, Rows
from longlook.timeline.normalise.spurious import NUMBER_SPACES

COLUMNS = (
    *("time_ns", "kind", "space", "packet_number", "size_bytes", "name", "detail", "value"),
    *("cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_ns", "latest_rtt_ns"),
)
_HELD = ("cwnd_bytes", "ssthresh_bytes", "in_flight_bytes")

APPLICATION = NUMBER_SPACES["1rtt"]
UNKNOWN_RTT_NS = 333_000_000
"""The round trip time that is assumed before the first sample (RFC 9002, 6.2.2)."""
_COMMON_MSS = 1200


@dataclass(frozen=True)
class Sender:
    """The records of a sender; `rows` are all events of one connection at one end in order, with COLUMNS."""

    rows: Rows

    def position(self, *kinds: str) -> Integers:
        """Return the positions of the rows of some kinds."""
        return np.flatnonzero(self.rows.matches("kind", *kinds))

    @property
    def begin_ns(self) -> int:
        """The time of the first event."""
        return int(self.rows["time_ns"][0])

    @property
    def end_ns(self) -> int:
        """The time of the last event."""
        return int(self.rows["time_ns"].max())

    @cached_property
    def controller(self) -> str | None:
        """The congestion controller that its records name, or None if they name none."""
        naming = self.rows.matches("kind", EventKind.PARAMETERS) & self.rows.matches("name", "recovery")
        for position in np.flatnonzero(naming).tolist():
            stated = json.loads(self.rows.text("detail", position) or "{}")
            if isinstance(stated, dict) and isinstance(name := stated.get("congestion_control"), str):
                return name
        return None

    @cached_property
    def windows(self) -> Rows:
        """The rows of metrics from where the window is known. A value that a row omits, because it did not change,
        holds.
        """
        rows = self.rows.only("time_ns", *_HELD).take(self._is_metrics)
        held = Rows({**rows.columns, **{name: _held(rows[name]) for name in _HELD}}, rows.texts)
        return _where(held, held["cwnd_bytes"] != NULL)

    @cached_property
    def metrics(self) -> Rows:
        """The rows of `windows` from where the bytes in flight are known too."""
        return _where(self.windows, self.windows["in_flight_bytes"] != NULL)

    @cached_property
    def mss_bytes(self) -> int:
        """The most frequent size of packets sent, at least the minimum of RFC 9000, 14."""
        sizes = self.rows["size_bytes"][self.position(EventKind.PACKET_SENT)]
        sizes = sizes[sizes >= _COMMON_MSS]
        return int(np.median(sizes)) if len(sizes) else _COMMON_MSS

    @cached_property
    def _is_metrics(self) -> Mask:
        return self.rows.matches("kind", EventKind.METRICS)

    @cached_property
    def _srtt(self) -> Rows:
        return self.rows.only("time_ns", "srtt_ns").take(self._is_metrics & (self.rows["srtt_ns"] > 0))

    def rtt_ns(self, times_ns: Integers) -> Integers:
        """Return the smoothed round trip time that held at some times."""
        rows = self._srtt
        if not len(rows):
            return np.full(len(times_ns), UNKNOWN_RTT_NS, np.int64)
        index = np.searchsorted(rows["time_ns"], times_ns, side="right") - 1
        return rows["srtt_ns"][np.maximum(index, 0)]

    @cached_property
    def application_packets(self) -> Mask:
        """Return which rows concern packets of the application's number space, or packets of no known space."""
        codes = [code for code, text in enumerate(self.rows.texts["space"]) if NUMBER_SPACES.get(text) == APPLICATION]
        space = self.rows["space"]
        chosen: Mask = np.isin(space, codes) | (space == NULL)
        return chosen

    @cached_property
    def highest_sent(self) -> Integers:
        """Return the highest number of an application packet sent up to each row, NULL before the first, shape
        (rows,).
        """
        sent = self.rows.matches("kind", EventKind.PACKET_SENT) & self.application_packets
        return np.maximum.accumulate(np.where(sent, self.rows["packet_number"], NULL))

    @cached_property
    def evidence(self) -> tuple[Integers, Integers]:
        """Return rows at which the peer acknowledged an application packet, and the highest number acknowledged by
        then.

        For stacks that log no acknowledgements they are rows with a new sample of the round trip time, and the highest
        number sent before its packet's successor, which is what the sample is of.
        """
        acked = self.position(EventKind.PACKET_ACKED)
        acked = acked[self.application_packets[acked]]
        if len(acked):
            return acked, np.maximum.accumulate(self.rows["packet_number"][acked])
        samples = self.position(EventKind.METRICS)
        latest = self.rows["latest_rtt_ns"][samples]
        fresh = np.flatnonzero((np.diff(latest, prepend=NULL) != 0) & (latest != NULL))
        samples = samples[fresh]
        sent_ns = self.rows["time_ns"][samples] - latest[fresh]
        index = np.searchsorted(self.rows["time_ns"], sent_ns, side="right") - 1
        return samples, np.maximum.accumulate(self.highest_sent[np.maximum(index, 0)])

    @cached_property
    def acked_bytes(self) -> tuple[Integers, npt.NDArray[np.int64]]:
        """Return times and the bytes acknowledged by then: sent − in flight if the stack does not log them."""
        acked = self.position(EventKind.PACKET_ACKED)
        if len(acked):
            sizes = np.maximum(self.rows["size_bytes"][acked], 0)
            return self.rows["time_ns"][acked], np.cumsum(sizes)
        sent = self.position(EventKind.PACKET_SENT)
        total = np.concatenate([[0], np.cumsum(np.maximum(self.rows["size_bytes"][sent], 0))])
        metrics = self.metrics
        index = np.searchsorted(self.rows["time_ns"][sent], metrics["time_ns"], side="right")
        return metrics["time_ns"], np.maximum.accumulate(total[index] - metrics["in_flight_bytes"])


def _where(rows: Rows, chosen: Mask) -> Rows:
    """Return some rows; without a copy if they are all."""
    return rows if chosen.all() else rows.take(chosen)


def _held(values: Integers) -> Integers:
    """Return each value, or the last known one before it."""
    known = np.where(values != NULL, np.arange(len(values)), 0)
    return values[np.maximum.accumulate(known)]
