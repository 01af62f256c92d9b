"""Data that arrived waits for a packet before it that was lost, also where it belongs to another object."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import Cause, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts.objects import ObjectFacts
from longlook.explain.moments import Stretches, drops, numbers, stretches_shown
from longlook.explain.pair import Pair, Side
from longlook.timeline.reassembly import tcp_waits

_SEVERAL = 2


def detect(pair: Pair) -> Sign | None:
    """Return a sign where data of several objects, over TCP, waits behind gaps for longer than in the winner."""
    side, found = pair.loser, blocked(pair.loser)
    more_ns = found.total_ns - blocked(pair.winner).total_ns
    if more_ns <= 0:
        return None
    lost = drops(side, side.down) & side.down.is_tcp & side.down.carries_data
    shown = stretches_shown(side, found, "data that has arrived waits for a lost packet before it")
    strength_ns = min(more_ns, pair.loser.load_ns - pair.winner.load_ns)
    return Sign(strength_ns, shown, dose=found.total_ns / 1e6, packets=numbers(side.down, lost))


def blocked(side: Side) -> Stretches:
    """Return the times at which TCP data had arrived behind a gap, in loads with several objects at once.

    Of QUIC no log on the wire says to which stream a packet belongs, and a gap in one does not stop the others.
    """
    link, objects = side.down, ObjectFacts.of(side.timeline, side.trial)
    own = np.flatnonzero(link.ours & link.delivered & link.is_tcp & (link.payload_bytes > 0))
    waiting = np.searchsorted(np.sort(objects.asked_ns), objects.done_ns, side="left") - np.arange(len(objects.path))
    if len(own) < 2 or len(objects.path) < _SEVERAL or waiting.max(initial=0) < _SEVERAL:
        return Stretches(np.zeros(0, np.int64), np.zeros(0, np.int64))
    own = own[np.argsort(link.departure_ns[own], kind="stable")]
    begins, ends = [], []
    for flow in np.unique(link.flow[own]):
        of_flow = own[link.flow[own] == flow]
        found = tcp_waits(link.departure_ns[of_flow], link.transport_sequence[of_flow], link.payload_bytes[of_flow])
        begins += [begin for begin, _ in found]
        ends += [end for _, end in found]
    order = np.argsort(np.array(begins, np.int64), kind="stable")
    return Stretches(np.array(begins, np.int64)[order], np.array(ends, np.int64)[order])


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the loser without the losses that made the gaps."""
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses that data waited for forgiven")
        ),
        changes.transplant(Touches.OCCASION, "objects over QUIC do not wait for each other's packets"),
    ]


CAUSE = Cause(
    name="head_of_line",
    title="Head-of-line blocking",
    sentence="while data of several objects waits for lost packets before it, {dose:.0f} ms in all",
    source="RFC 9114, 2; Marx et al., WebIST 2020",
    role="path",
    classes=(),
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="these losses forgiven",
    says=Says.WHERE,
)
