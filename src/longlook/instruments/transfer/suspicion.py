"""A suspected cause in one trace: what was seen, in which packets, and what would confirm it. Pure types."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from longlook.core import Scalar
from longlook.explain import Booleans, Integers
from longlook.instruments.transfer.classes import Intervals, TimeClass
from longlook.instruments.transfer.path import PathFacts, RoundTrips, waits_near
from longlook.instruments.transfer.recording import Packets, Recording
from longlook.instruments.transfer.sender import Pauses

MOST_EVIDENCE = 5
_QUEUE_SHARE = 0.2
_FULL = 0.5
LEAST_SHARE = 0.05
"""A cause must be able to account for so much of the transfer's time to be named, as in `longlook explain RUN`."""


@dataclass(frozen=True)
class Seen:
    """One observation: its time in ns, the number of its packet if it has one, and what was seen."""

    time_ns: int
    what: str
    packet: int | None = None


@dataclass(frozen=True)
class Suspicion:
    """A cause of docs/reference/causes.md that may have cost time, by one trace.

    `settings` are keys of a study (docs/reference/study-keys.md) whose trial lacks the cause: made in the study that
    repeats the transfer, they show whether it is one.
    """

    cause: str
    says: str
    at_most_ns: int  # the time in which it could have been at work
    evidence: Sequence[Seen]
    confirm: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    proven_by: str = ""  # what makes it more than one end's word, if anything does


@dataclass(frozen=True)
class Case:
    """All that the signs of one trace read."""

    recording: Recording
    data: Packets  # with data, in the direction of most of it
    intervals: Intervals
    path: PathFacts
    trips: RoundTrips
    waits: tuple[Integers, Integers]
    pauses: Pauses | None  # of a sender's trace

    @property
    def total_ns(self) -> int:
        """The length of the transfer."""
        return self.intervals.total_ns

    @property
    def bottlenecked(self) -> bool:
        """Whether packets of a sender's trace waited in a queue of the path for a part of its time."""
        return self.recording.sends and self.intervals.spent_ns(TimeClass.PATH) > _QUEUE_SHARE * self.total_ns

    def at_full_queue(self, sent_ns: Integers) -> Booleans:
        """Return which packets, by when they left, met a standing queue that was half as long as ever, or longer.

        A short burst makes a queue of its own, so a loss near any queue is not yet the drop of a full one.
        """
        if not self.bottlenecked:
            return np.zeros(len(sent_ns), np.bool_)
        waits = waits_near(self.waits, sent_ns, self.path.median_rtt_ns or 0)
        return np.asarray(waits > _FULL * (self.path.queue_ns or 0), np.bool_)


Sign: TypeAlias = Callable[[Case], Suspicion | None]
"""Looks for one cause; pure."""
