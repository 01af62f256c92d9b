"""The client takes what arrives later than it arrives."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from longlook.core.model import Processor
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import bounded_ns
from longlook.explain.side import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE
from longlook.study.processors import text_of, times

_CLASSES = (
    LedgerClass.PROPAGATION,
    *(LedgerClass.STREAM_CREDIT, LedgerClass.CONNECTION_CREDIT),
    *(LedgerClass.HTTP2_STREAM_CREDIT, LedgerClass.HTTP2_CONNECTION_CREDIT),
    LedgerClass.CLIENT_IDLE,
)
_LATE_NS = 1_000_000
_SHARES = ("25%", "50%", "100%")
_PARTS = (Fraction(1, 4), Fraction(1, 2), Fraction(1))


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client finishes objects more than a millisecond after their last packet."""
    late_ns, objects = late(pair.loser)
    if len(late_ns) == 0 or late_ns.max() < _LATE_NS or late_ns.sum() <= late(pair.winner)[0].sum():
        return None
    places = np.flatnonzero(late_ns >= _LATE_NS)[:MOST_EVIDENCE]
    shown = tuple(
        Evidence(
            int(objects.done_ns[place]) - pair.loser.start_ns,
            f"{objects.path[place]} is read {late_ns[place] / 1e6:.1f} ms after its last packet came",
        )
        for place in places
    )
    total_ns = int(late_ns.sum())
    return Sign(bounded_ns(pair, total_ns, *_CLASSES), shown, dose=total_ns / 1e6)


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
    """Return all of a CPU for the loser's client, parts of it as doses, and the loser's processor for the winner's."""
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
                "the client has all of a CPU already, and no setting makes it read sooner",
            )
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
    sentence="its client reads {dose:.0f} ms later than data arrives",
    source="Kakhki et al., IMC 2017, 5.2 (mobile devices); Zhang et al., WWW 2024",
    role="client",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="more of a CPU for the client",
)
