"""The classes of time in a transfer that was recorded at its ends, and intervals of them (docs/guide/your-trace.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from longlook.explain import Booleans, Integers


class TimeClass(StrEnum):
    """The use of a stretch of a transfer's time; `MEANINGS` explains each."""

    HANDSHAKE = "handshake"
    PATH = "path"
    ARRIVING = "arriving"
    SENDING = "sending"
    TIMER = "timer"
    STREAM_CREDIT = "stream_credit"
    CONNECTION_CREDIT = "connection_credit"
    CONGESTION_WINDOW = "congestion_window"
    PACING = "pacing"
    APPLICATION = "application"
    PEER_IDLE = "peer_idle"
    REQUEST = "request"
    SERVER_THINK = "server_think"
    PROPAGATION = "propagation"
    UNEXPLAINED = "unexplained"


MEANINGS: Mapping[TimeClass, str] = {
    TimeClass.HANDSHAKE: "no data can be sent yet",
    TimeClass.PATH: "packets wait in a queue of the path, or at the peer, whose rate is the limit",
    TimeClass.ARRIVING: "data arrives steadily, at the rate of the path or of the sender's pacer",
    TimeClass.SENDING: "packets leave back to back, as fast as the program sends",
    TimeClass.TIMER: "the sender goes on when a timer fires",
    TimeClass.STREAM_CREDIT: "the receiver's credit for a stream is used up",
    TimeClass.CONNECTION_CREDIT: "the receiver's credit for the connection is used up (TCP: its window)",
    TimeClass.CONGESTION_WINDOW: "the congestion window is full",
    TimeClass.PACING: "the window has room, and the sender spreads its packets over time",
    TimeClass.APPLICATION: "the program gives the sender nothing to send",
    TimeClass.PEER_IDLE: "the peer has asked for nothing more",
    TimeClass.REQUEST: "a request, or the first byte of its answer, is on its way",
    TimeClass.SERVER_THINK: "the request has arrived, and its answer has not left",
    TimeClass.PROPAGATION: "all is sent, and the last of it is on its way",
    TimeClass.UNEXPLAINED: "no rule holds",
}
"""The meaning of each class, in the order in which they are listed."""

PLACES = {name: place for place, name in enumerate(TimeClass)}


@dataclass(frozen=True)
class Intervals:
    """Stretches of time without gaps, each in one class. Arrays of shape (N,), times in ns; `detail` may be empty."""

    start_ns: Integers
    end_ns: Integers
    place: Integers  # in TimeClass
    detail: Integers  # in `texts`
    texts: tuple[str, ...]

    @property
    def length_ns(self) -> Integers:
        """The length of each."""
        return self.end_ns - self.start_ns

    @property
    def total_ns(self) -> int:
        """The length of all."""
        return int(self.length_ns.sum())

    def are(self, *names: TimeClass) -> Booleans:
        """Return which are of some classes."""
        found: Booleans = np.isin(self.place, [PLACES[name] for name in names])
        return found

    def spent_ns(self, *names: TimeClass) -> int:
        """Return the time in some classes."""
        return int(self.length_ns[self.are(*names)].sum())

    def sums(self) -> dict[tuple[TimeClass, str], int]:
        """Return the ns of each class and detail that took any, in the order of classes."""
        names = tuple(TimeClass)
        found: dict[tuple[TimeClass, str], int] = {}
        for place, name in enumerate(names):
            own = self.place == place
            for detail in np.unique(self.detail[own]).tolist():
                found[name, self.texts[detail]] = int(self.length_ns[own & (self.detail == detail)].sum())
        return {key: length for key, length in found.items() if length > 0}


class Rules:
    """Classes of intervals, decided by rules one after the other: the first that holds counts."""

    def __init__(self, bounds_ns: Integers) -> None:
        self.start_ns, self.end_ns = bounds_ns[:-1], bounds_ns[1:]
        self._place = np.full(len(self.start_ns), -1, np.int64)
        self._detail = np.zeros(len(self.start_ns), np.int64)
        self._texts = [""]

    def decide(self, where: Booleans, name: TimeClass, detail: str = "") -> None:
        """Give a class to the undecided ones of some intervals."""
        chosen = where & (self._place < 0)
        if detail not in self._texts:
            self._texts.append(detail)
        self._place[chosen] = PLACES[name]
        self._detail[chosen] = self._texts.index(detail)

    def decided(self) -> Intervals:
        """Return the intervals; undecided ones are unexplained, and equal neighbours are one."""
        self.decide(self._place < 0, TimeClass.UNEXPLAINED)
        changed = np.ones(len(self._place), np.bool_)
        changed[1:] = (np.diff(self._place) != 0) | (np.diff(self._detail) != 0)
        first = np.flatnonzero(changed)
        last = np.append(first[1:], len(changed)) - 1
        return Intervals(
            self.start_ns[first], self.end_ns[last], self._place[first], self._detail[first], tuple(self._texts)
        )
