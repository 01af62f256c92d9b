"""The rate of the path is limited by dropping what is too much, as the sender's own log shows: loss without a queue."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from longlook.explain import changes
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts import UNNUMBERED, Booleans, Integers, SenderFacts, Steps
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import SENDER_WAITS, during
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE

Floats = npt.NDArray[np.float64]

_CLASSES = (LedgerClass.FALLBACK, LedgerClass.HANDSHAKE, *SENDER_WAITS)
_LEAST_LOSSES = 10
"""With fewer the rate that passes is not known."""
_MOST_ROUND_TRIP = 1.25
"""The round trip at a loss, as a multiple of the shortest: a queue of a quarter of the BDP makes as much."""
_MOST_OF_LOSSES = 0.8
"""How many of the losses must look like that of a limit."""


@dataclass(frozen=True)
class Limit:
    """A limit of the rate that the losses of a sender's log show."""

    rate_bps: float
    lost_ns: Integers  # when the lost packets were sent
    numbers: Integers
    round_trip_ratio: float  # median at the losses, as a multiple of the shortest


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's sender loses packets whenever it has sent more than one steady rate, with round
    trips that are hardly longer than the shortest, and where the winner's does not.
    """
    side = pair.loser
    limit = limit_of(side)
    if limit is None or limit_of(pair.winner) is not None:
        return None
    text = (
        f"a packet is lost beyond {limit.rate_bps / 1e6:.2f} Mbit/s, and no queue grows: "
        f"at losses the round trip is {limit.round_trip_ratio:.2f} times the shortest"
    )
    shown = [
        Evidence(int(at_ns) - side.start_ns, text, (int(number),))
        for at_ns, number in zip(limit.lost_ns[:MOST_EVIDENCE], limit.numbers[:MOST_EVIDENCE], strict=True)
    ]
    more = len(limit.lost_ns) - len(shown)
    shown += [Evidence(int(limit.lost_ns[-1]) - side.start_ns, f"and {more} more")] * (more > 0)
    return Sign(pair.excess_ns(*_CLASSES), tuple(shown), dose=limit.rate_bps / 1e6)


def limit_of(side: Side) -> Limit | None:
    """Return the limit that the server's log shows; None where it shows none, or has no numbered packets or no times.

    The rate is what was delivered from the first loss to the last. A token bucket of that rate, empty at the first
    loss, is then filled and emptied by the log: a limit loses packets where it is empty, other causes anywhere.
    """
    sender = side.server
    if sender is None or sender.latest_rtt is None:
        return None
    sent_ns, size_bytes, number, lost = _sent(side, sender)
    places = np.flatnonzero(lost)
    if len(places) < _LEAST_LOSSES:
        return None
    ratios = _round_trips(sender.latest_rtt, sent_ns[lost])
    if float((ratios <= _MOST_ROUND_TRIP).mean()) < _MOST_OF_LOSSES:
        return None
    first, last = int(places[0]), int(places[-1])
    span_ns = int(sent_ns[last] - sent_ns[first])
    passed_bytes = int(size_bytes[first:last][~lost[first:last]].sum())
    if span_ns <= 0 or passed_bytes == 0:
        return None
    within = slice(first, last + 1)
    tokens = _tokens(sent_ns[within], size_bytes[within], lost[within], passed_bytes / span_ns)
    empty = tokens < 2 * float(size_bytes[lost].max())
    of_losses, of_others = float(empty[lost[within]].mean()), float(empty[~lost[within]].mean())
    if of_losses < _MOST_OF_LOSSES or of_others >= of_losses:
        return None
    return Limit(8e9 * passed_bytes / span_ns, sent_ns[lost], number[lost], float(np.median(ratios)))


def _sent(side: Side, sender: SenderFacts) -> tuple[Integers, Integers, Integers, Booleans]:
    """Return when the load's packets were sent, their sizes and numbers, and which were lost in truth."""
    inside = during(side, sender.sent.time_ns) & (sender.sent.packet_number != UNNUMBERED)
    number = sender.sent.packet_number[inside]
    delivered = np.concatenate([sender.spurious.packet_number, sender.refused.packet_number])
    gone = np.setdiff1d(sender.lost.packet_number, delivered)
    lost = np.isin(number, gone[gone != UNNUMBERED])
    return sender.sent.time_ns[inside], sender.sent.size_bytes[inside], number, lost


def _round_trips(measured: Steps, times_ns: Integers) -> Floats:
    """Return the latest round trips at some times, as multiples of the shortest of all."""
    shortest_ns = int(measured.value.min())
    found: Floats = measured.at(times_ns, shortest_ns) / max(shortest_ns, 1)
    return found


def _tokens(sent_ns: Integers, size_bytes: Integers, lost: Booleans, bytes_per_ns: float) -> Floats:
    """Return what a bucket holds when each packet meets it, in bytes; it is empty when the first does."""
    taken = np.where(lost, 0, size_bytes)
    before = np.concatenate(([0], np.cumsum(taken)[:-1]))
    level = (sent_ns - sent_ns[0]) * bytes_per_ns - before
    found: Floats = level - np.minimum.accumulate(np.minimum(level, 0))
    return found


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path that does not limit the rate for both arms."""
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, changes.path({"udp_rate": "off"}, "no limit of the rate of UDP"))
    ]


CAUSE = Cause(
    name="policed",
    title="Policed",
    sentence="where the path passes about {dose:.2f} Mbit/s and drops the rest, and no queue grows",
    source="Flach et al., SIGCOMM 2016, 3.1 (how policing shows in traces); Langley et al., SIGCOMM 2017, 7.2",
    role="path",
    classes=_CLASSES,
    needs=("packet_sent", "packet_lost", "metrics"),
    detect=detect,
    interventions=interventions,
    cured_by="no limit of the rate",
    says=Says.WHERE,
)
