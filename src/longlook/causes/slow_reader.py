"""The client takes what arrives later than it arrives."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from longlook.core.cpus import text_of, times
from longlook.core.model import Processor
from longlook.explain import changes, remedies
from longlook.explain.cause import (
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    Sign,
    Surgery,
    Target,
    Touches,
    Untestable,
)
from longlook.explain.facts import Integers
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import bounded_ns, during, hold, stretches
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE

_CLASSES = (
    LedgerClass.PROPAGATION,
    *(LedgerClass.STREAM_CREDIT, LedgerClass.CONNECTION_CREDIT),
    *(LedgerClass.HTTP2_STREAM_CREDIT, LedgerClass.HTTP2_CONNECTION_CREDIT),
    LedgerClass.CLIENT_IDLE,
)
_CREDIT = tuple(name for name in _CLASSES if name.endswith("_credit"))
_LATE_NS = 1_000_000
_HOLD = "its last packet with data held back for as long as the loser's client takes to read"
_SHARES = ("25%", "50%", "100%")
_PARTS = (Fraction(1, 4), Fraction(1, 2), Fraction(1))


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client finishes objects more than a millisecond after their last packet, or gives
    credit that its server waits for so much later than all data had arrived.
    """
    side = pair.loser
    (late_ns, objects), (held_ns, until_ns) = late(side), late_credit(side)
    total_ns = int(late_ns.sum() + held_ns.sum())
    if max(late_ns.max(initial=0), held_ns.max(initial=0)) < _LATE_NS or total_ns <= _total_ns(pair.winner):
        return None
    read = [
        Evidence(
            int(objects.done_ns[place]) - side.start_ns,
            f"{objects.path[place]} is read {late_ns[place] / 1e6:.1f} ms after its last packet came",
        )
        for place in np.flatnonzero(late_ns >= _LATE_NS)[:MOST_EVIDENCE]
    ]
    given = [
        Evidence(
            int(until_ns[place]) - side.start_ns,
            f"credit that the server waits for comes {held_ns[place] / 1e6:.1f} ms after all data has arrived",
        )
        for place in np.flatnonzero(held_ns >= _LATE_NS)[:MOST_EVIDENCE]
    ]
    shown = tuple(sorted((*given, *read), key=lambda one: one.time_ns))
    costs_ns = bounded_ns(pair, total_ns, *_CLASSES)
    return Sign(costs_ns, shown, dose=total_ns / 1e6, transplant=_held(pair.winner, costs_ns))


def _held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the last packet with data for a time, as if it were read so much later."""
    link = side.down
    data = np.flatnonzero(link.ours & link.delivered & link.carries_data & ~link.copy & during(side, link.departure_ns))
    if len(data) == 0 or time_ns <= 0:
        return None
    return Surgery(down=hold(link, data[[np.argmax(link.departure_ns[data])]], time_ns))


def _total_ns(side: Side) -> int:
    return int(late(side)[0].sum() + late_credit(side)[0].sum())


def late_credit(side: Side) -> tuple[Integers, Integers]:
    """Return for each wait of the server for credit how much later than the last data reached the client it sent the
    packet that ended the wait, and when, in ns.

    A client that reads at once gives credit while data arrives: then nothing is late, however small its window is.
    """
    waits, down, up = stretches(side, *_CREDIT).joined(), side.down, side.up
    asked = np.flatnonzero(up.ours & up.delivered)
    asked = asked[np.argsort(up.departure_ns[asked], kind="stable")]
    came = np.sort(down.departure_ns[down.ours & down.delivered & down.carries_data])
    place = np.searchsorted(up.departure_ns[asked], waits.end_ns, side="right") - 1
    known = (place >= 0) & (len(came) > 0)
    sent_ns = up.arrival_ns[asked][place[known]]
    last = np.searchsorted(came, sent_ns, side="right") - 1
    began = last >= 0
    held_ns = sent_ns[began] - np.maximum(came[last[began]], waits.begin_ns[known][began])
    return np.maximum(held_ns, 0), sent_ns[began]


def late(side: Side) -> "tuple[np.ndarray, ObjectFacts]":
    """Return by how much later than its last packet came the client had each object on the critical path, in ns."""
    objects, link = ObjectFacts.of(side.timeline, side.trial), side.down
    own = np.sort(link.departure_ns[link.ours & link.delivered & link.carries_data])
    if len(own) == 0:
        return np.zeros(0, np.int64), objects
    place = np.searchsorted(own, objects.done_ns, side="right") - 1
    behind = objects.done_ns - own[np.maximum(place, 0)]
    return np.where((place >= 0) & objects.critical, behind, 0), objects


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return all of a CPU for the loser's client, parts of it as doses, and the loser's processor for the winner's.

    Where the client has all of a CPU, its own program reads late: the winner's client for the loser, and the winner's
    last packet held back by as much.
    """
    own = pair.loser.trial.processors.get("client")
    if own is not None:
        return [
            *(
                changes.cure(Touches.MECHANISM, Target.LOSER, change)
                for change in remedies.freed(pair.loser.trial, "client")
            ),
            changes.transplant(Touches.MECHANISM, _with_processor(own, "the loser's processor")),
            *changes.doses(
                Touches.MECHANISM,
                Target.LOSER,
                [
                    (float(part), _with_processor(times(own, part), f"a client on which all takes {part} of the time"))
                    for part in _PARTS
                ],
            ),
        ]
    share = pair.loser.trial.client_cpu_share
    if share is None:
        return [
            changes.cure(
                Touches.MECHANISM,
                Target.LOSER,
                "the client has all of a CPU already; a build of it that reads sooner would be needed",
            ),
            changes.cure(Touches.PROGRAM, Target.LOSER, remedies.winners_program(pair, "client")),
            changes.transplant(
                Touches.OCCASION, remedies.inflicted(finding, _HOLD, "the winner has no packet to hold")
            ),
        ]
    doses = [(float(text.rstrip("%")), _limited(text)) for text in _SHARES]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _limited("off")),
        changes.transplant(Touches.MECHANISM, _limited(f"{100 * share:g}%")),
        *changes.doses(Touches.MECHANISM, Target.LOSER, doses),
    ]


def _with_processor(processor: Processor, label: str) -> Change:
    return Change(label, {"client_processor": text_of(processor)})


def _limited(share: str) -> Change:
    label = "a client without a limit of its CPU" if share == "off" else f"a client with {share} of a CPU"
    return Change(label, {"client_cpu": share})


CAUSE = Cause(
    name="slow_reader",
    title="Slow client",
    sentence="its client reads data, or gives credit for more, {dose:.0f} ms later than data arrives",
    source="Kakhki et al., IMC 2017, 5.2 (mobile devices); Zhang et al., WWW 2024",
    role="client",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="more of a CPU for the client; the winner's client",
    where="where its client takes what has arrived",
)
