"""A recorded transfer beside the trial that repeats it, read by one instrument. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.classes import TimeClass

TIME_FACTOR = 1.1
CLASS_SHARE = 0.15
"""A trial is like its trace if its time is within this factor, and at most this share of it is in other classes."""


@dataclass(frozen=True)
class Compared:
    """A quantity of trace and trial; None if it is not known."""

    name: str
    unit: str
    trace: float | None
    trial: float | None


@dataclass(frozen=True)
class Likeness:
    """How alike a transfer and its trial are. Shares of classes are of the compared time."""

    quantities: Sequence[Compared]
    classes: Sequence[Compared]
    time_factor: float  # trial / trace
    class_distance: float  # the share of time that is in other classes: 0 to 1

    @property
    def alike(self) -> bool:
        """Whether the trial may stand for the trace."""
        return abs(math.log(self.time_factor)) <= math.log(TIME_FACTOR) and self.class_distance <= CLASS_SHARE


def likeness_of(trace: TransferAnswer, trial: TransferAnswer) -> Likeness:
    """Compare a transfer with its trial, from the first data on if the trace lacks the handshake."""
    without = () if trace.recording.handshake_seen else (TimeClass.HANDSHAKE,)
    ours, theirs = (_spent(each, without) for each in (trial, trace))
    whole, wanted = max(1, sum(ours.values())), max(1, sum(theirs.values()))
    classes = [
        Compared(str(name), "%", 100 * theirs.get(name, 0) / wanted, 100 * ours.get(name, 0) / whole)
        for name in TimeClass
        if name in ours or name in theirs
    ]
    distance = sum(abs((each.trace or 0) - (each.trial or 0)) for each in classes) / 200
    paths = (trace.path, trial.path)
    quantities = [
        Compared("time", "s", wanted / 1e9, whole / 1e9),
        *(
            Compared(name, unit, *(None if value is None else value / scale for value in values))
            for name, unit, scale, values in (
                ("data on the path", "B", 1, [path.data_bytes for path in paths]),
                ("shortest round trip", "s", 1e9, [path.shortest_rtt_ns for path in paths]),
                ("median round trip", "s", 1e9, [path.median_rtt_ns for path in paths]),
                ("highest steady rate", "bit/s", 1, [path.rate_bps for path in paths]),
                ("longest wait in queues", "s", 1e9, [path.queue_ns for path in paths]),
                ("packets lost", "", 1, [path.lost_packets for path in paths]),
            )
        ),
    ]
    return Likeness(quantities, classes, whole / wanted, distance)


def _spent(answer: TransferAnswer, without: tuple[TimeClass, ...]) -> dict[TimeClass, int]:
    """Return the ns of each class that took any, without some classes."""
    spent = {name: answer.intervals.spent_ns(name) for name in TimeClass if name not in without}
    return {name: length_ns for name, length_ns in spent.items() if length_ns}
