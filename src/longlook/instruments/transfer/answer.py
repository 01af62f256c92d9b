"""A recording → the answer: where the time of the transfer went, what limited it when, and suspected causes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from longlook.core import InputError
from longlook.instruments.transfer.classes import Intervals, TimeClass
from longlook.instruments.transfer.path import PathFacts, grain_ns, path_facts, queue_waits, round_trips
from longlook.instruments.transfer.phases import Phase, phases
from longlook.instruments.transfer.receiver import arriving_data, receiver_time
from longlook.instruments.transfer.recording import Recording
from longlook.instruments.transfer.sender import data_of, pauses_of, sender_time
from longlook.instruments.transfer.signs import suspicions
from longlook.instruments.transfer.suspicion import Case, Suspicion

_COARSE_NS = 1_000_000


@dataclass(frozen=True)
class TransferAnswer:
    """The answer about one transfer. `rests_on` has a sentence for everything that the recorded ends cannot tell."""

    case: Case
    phases: Sequence[Phase]
    suspicions: Sequence[Suspicion]
    rests_on: Sequence[str]

    @property
    def recording(self) -> Recording:
        """The trace that the answer is about."""
        return self.case.recording

    @property
    def intervals(self) -> Intervals:
        """The classes of time."""
        return self.case.intervals

    @property
    def path(self) -> PathFacts:
        """The path as the trace shows it."""
        return self.case.path

    @property
    def limit(self) -> TimeClass:
        """The class that most of the time is in."""
        return max(self.intervals.sums().items(), key=lambda item: item[1])[0][0]


def explain_one(recording: Recording, *, alone: bool = True) -> TransferAnswer:
    """Return the answer of one end's trace, `alone` or next to the other end's.

    Raise InputError if hardly any data was sent or received.
    """
    trips = round_trips(recording)
    path = path_facts(recording, trips)
    waits = queue_waits(trips)
    sends = recording.sends
    data = data_of(recording) if sends else arriving_data(recording)
    if len(data) > 1 and data.time_ns[0] == data.time_ns[-1]:
        raise InputError(f"{recording.name}: all its data has one time, so no time can be explained", "log finer times")
    intervals = sender_time(recording, path, waits) if sends else receiver_time(recording, path)
    if intervals is None or intervals.total_ns <= 0:
        raise InputError(
            f"{recording.name}: fewer than two packets with data after the handshake, so there is nothing to explain",
            f"longlook trace show {recording.name} says what the trace has; --connection N chooses another connection",
        )
    case = Case(recording, data, intervals, path, trips, waits, pauses_of(recording, data) if sends else None)
    found = phases(intervals, data, path.shortest_rtt_ns)
    return TransferAnswer(case, found, suspicions(case), _rests_on(recording, path, alone=alone))


def _rests_on(recording: Recording, path: PathFacts, *, alone: bool) -> list[str]:
    """Return what the trace of one end leaves open, with each rule that stands for something unlogged."""
    end = recording.end if recording.end != "unknown" else "recorded"
    found = [*recording.notes]
    if alone:
        found.append(
            f"All of this rests on the {end} end alone; the other end's trace, or a capture there, would check it."
        )
    if recording.sends:
        found.append(
            "A queue of the path is seen in round trips, which also have the peer's delay of acknowledgements."
        )
        if not len(recording.acked):
            found.append("The trace has no acknowledgements, so bytes in flight and round trips are as it logs them.")
        if not len(recording.figures.cwnd_bytes.value):
            found.append("The trace has no congestion window: rules of time stand for it, and their details say so.")
    else:
        found.append(
            "The sender's window, pacer and program are not in a receiver's trace: rules of time stand for them."
        )
        found.append("Data that arrives steadily can be held back by the path or by the sender's pacer.")
        if not len(recording.streams.stream):
            found.append("The trace has no frames of streams, so requests look like other waits.")
    if not recording.handshake_seen:
        found.append("The trace begins after the handshake, so the handshake and its round trip are unknown.")
    if grain_ns(recording.sent) >= _COARSE_NS and grain_ns(recording.received) >= _COARSE_NS:
        found.append("Its clock is coarse (1 ms or more), so shorter waits are not seen.")
    if path.shortest_rtt_ns is None:
        found.append("No round trip can be measured.")
    if recording.counted_losses:
        found.append(f"{recording.counted_losses} losses are only counted: which packets they were is unknown.")
    return found
