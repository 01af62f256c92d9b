"""The sender's packets come in trains that the queue cannot hold, though it could hold them spread out."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import Integers
from longlook.explain.moments import SENDER_WAITS
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import QUEUE_REASONS, dropped_for, drops_shown

_LEAST_TRAIN = 8
_SHARE = 0.5
_PACKET_BYTES = 1500


def detect(pair: Pair) -> Sign | None:
    """Return a sign where half of the queue's drops hit trains of the loser that are longer than the winner's."""
    side = pair.loser
    lost, trains = dropped_for(side, side.down, *QUEUE_REASONS), trains_of_drops(side)
    others = trains_of_drops(pair.winner)
    if len(trains) == 0 or np.mean(trains >= _LEAST_TRAIN) < _SHARE:
        return None
    if len(others) >= len(trains) and np.median(others) >= np.median(trains):
        return None
    shown = drops_shown(side, side.down, lost, "the queue has no room for a packet of a train")
    return Sign(pair.excess_ns(*SENDER_WAITS), shown, dose=float(np.median(trains)))


def trains_of_drops(side: Side) -> Integers:
    """Return, for each drop of the queue, in the how manieth packet of a train it was.

    A train is a run of packets of which each arrives within half of the time that the bottleneck takes to serve one.
    """
    link = side.down
    rate_bps, own = link.rate_bps, np.flatnonzero(link.ours & ~link.copy)
    if rate_bps is None or len(own) == 0:
        return np.zeros(0, np.int64)
    gaps = np.diff(link.arrival_ns[own], prepend=link.arrival_ns[own[0]])
    begins = gaps > link.size_bytes[own] * 8e9 / rate_bps / 2
    begins[0] = True
    first = np.maximum.accumulate(np.where(begins, np.arange(len(own)), 0))
    place = np.arange(len(own)) - first + 1
    return np.asarray(place[dropped_for(side, link, *QUEUE_REASONS)[own]], np.int64)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return pacing or single packets for the loser, none for the winner, and room for the trains in the queue."""
    side, other = pair.loser, pair.winner
    found = [
        changes.cure(
            Touches.MECHANISM,
            Target.LOSER,
            remedies.tuned(side.trial, "server", {"pacing": True}, {"tcp_pacing": True}, "pacing"),
        ),
        changes.cure(
            Touches.MECHANISM,
            Target.LOSER,
            remedies.tuned(side.trial, "server", {"gso": False}, {}, "no segmentation offload"),
        ),
        changes.transplant(
            Touches.MECHANISM,
            remedies.tuned(other.trial, "server", {"pacing": False}, {"tcp_pacing": False}, "no pacing"),
        ),
    ]
    doses = [(share, _longer(side, share * (finding.dose or 1.0))) for share in (0.5, 1.0, 2.0)]
    return [
        *found,
        changes.cure(Touches.OCCASION, Target.BOTH, doses[1][1]),
        *changes.doses(Touches.OCCASION, Target.BOTH, doses),
    ]


def _longer(side: Side, packets: float) -> Change | str:
    queues = [
        stage.parameters.get("queue_bytes") for stage in side.trial.link.down if "queue_bytes" in stage.parameters
    ]
    if len(queues) != 1 or not isinstance(queues[0], int):
        return "the queue to the client varies, or is not counted in bytes"
    longer = queues[0] + max(1, round(packets)) * _PACKET_BYTES
    return Change(f"a queue with room for {max(1, round(packets))} packets more", {"network.down.queue": f"{longer}B"})


CAUSE = Cause(
    name="burstiness",
    title="Bursts overflow the queue",
    sentence="its packets come in trains of about {dose:.0f}, which the queue has no room for",
    source="Kempf et al., QUIC Steps, CoNEXT 2025; RFC 9002, 7.7; picoquic#1959",
    role="server",
    classes=SENDER_WAITS,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="pacing; no segmentation offload; a queue that holds the trains",
    where="at drops of the queue, which has no room for its trains of packets",
)
