"""Causes: the rate of sending, trains of packets, and queues that a sender fills itself."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import (
    NEVER,
    QUEUE_REASONS,
    SENDER_WAITS,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
    ObjectFacts,
    Pair,
    Says,
    Side,
    Sign,
    Target,
    Touches,
    Untestable,
    changes,
    dropped_for,
    drops_shown,
    has_state,
    stretches,
    stretches_shown,
    wait_ns,
    within,
)

_PACING_LIMITED_CLASSES = (LedgerClass.PACING,)
_OF_BBR = "bbr_"


def pacing_limited_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's pacing leaves the bottleneck idle for longer than the winner's.

    BBR is paced by its model of the path, which is another cause (`model_error`); TCP is paced if it was configured so.
    """
    side = pair.loser
    more_ns, waits = pair.excess_ns(*_PACING_LIMITED_CLASSES), stretches(side, *_PACING_LIMITED_CLASSES)
    paced = changes.over_quic(side.trial) or bool(side.trial.tcp.get("pacing", False))
    if more_ns <= 0 or not paced or has_state(side.server, _OF_BBR):
        return None
    shown = stretches_shown(side, waits, "the window has room and the bottleneck is idle")
    return Sign(more_ns, shown, dose=waits.total_ns / 1e6)


def pacing_limited_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return no pacing for the loser, and pacing for the winner."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _paced(pair, False)),
        changes.transplant(Touches.MECHANISM, _paced(pair, True)),
    ]


def _paced(pair: Pair, on: bool) -> Change | str:
    trial = pair.winner.trial if on else pair.loser.trial
    return changes.tuned(trial, "server", {"pacing": on}, {"tcp_pacing": on}, "pacing" if on else "no pacing")


PACING_LIMITED = Cause(
    name="pacing_limited",
    title="Pacing slower than the path",
    sentence="its pacing leaves the bottleneck idle for {dose:.0f} ms",
    source="Aggarwal, Savage and Anderson, INFOCOM 2000; RFC 9002, 7.7; neqo#1463",
    role="server",
    classes=_PACING_LIMITED_CLASSES,
    needs=("metrics",),
    detect=pacing_limited_sign,
    interventions=pacing_limited_changes,
    cured_by="no pacing; pacing for the winner",
)
"""The sender spreads its packets although its window, its data and the bottleneck would let it go on."""


_MODEL_ERROR_CLASSES = (LedgerClass.PACING, LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)
_BELOW = 0.9
_STARTING = ("bbr_startup",)
_STEADY = {"jitter": "0ms"}


def model_error_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's sender is BBR's and paces below 0.9 of the path's rate, in the median."""
    share = paced_share(pair.loser)
    if share is None or share >= _BELOW:
        return None
    shown = Evidence(0, f"after its start-up it sends at {share:.2f} of the path's rate, in the median")
    return Sign(pair.excess_ns(*_MODEL_ERROR_CLASSES), (shown,), dose=share)


def paced_share(side: Side) -> float | None:
    """Return BBR's median pacing rate behind its first start-up as a share of the path's; None for other senders."""
    sender, rate_bps = side.server, side.down.rate_bps
    if sender is None or sender.pacing is None or sender.state is None or not rate_bps or not has_state(sender, "bbr_"):
        return None
    codes = [code for code, name in enumerate(sender.states) if name in _STARTING]
    states = within(side, sender.state)
    beyond = states.time_ns[~np.isin(states.value, codes)]
    began = states.time_ns[np.isin(states.value, codes)]
    pacing = within(side, sender.pacing)
    since_ns = int(beyond[beyond > began[0]][0]) if len(began) and (beyond > began[0]).any() else side.start_ns
    later = pacing.value[pacing.time_ns >= since_ns]
    return float(np.median(later)) / rate_bps if len(later) else None


def model_error_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return another controller for the loser, BBR for the winner, and a path whose round trip time does not vary."""
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in changes.other_controllers(pair.loser)[:1]
    ]
    label = "bbr as congestion control"
    bbr = changes.tuned(
        pair.winner.trial, "server", {"congestion_control": "bbr"}, {"congestion_control": "bbr"}, label
    )
    found.append(changes.transplant(Touches.MECHANISM, bbr))
    if changes.has_stage(pair.loser, "jitter"):
        found.append(changes.cure(Touches.OCCASION, Target.BOTH, changes.path(_STEADY, "no jitter")))
    return found


MODEL_ERROR = Cause(
    name="model_error",
    title="BBR's model of the path",
    sentence="its BBR sends at only {dose:.2f} of the path's rate, which its model takes for all of it",
    source="Cardwell et al., 2016; Ware et al., IMC 2019; draft-ietf-ccwg-bbr",
    role="server",
    classes=_MODEL_ERROR_CLASSES,
    needs=("metrics", "state"),
    detect=model_error_sign,
    interventions=model_error_changes,
    cured_by="another controller; a constant round trip time",
    where="where the round trip time of the path varies",
)
"""BBR sends less than the path carries, because its model of the path is wrong."""


_LEAST_TRAIN = 8
_SHARE = 0.5
_PACKET_BYTES = 1500


def burstiness_sign(pair: Pair) -> Sign | None:
    """Return a sign if half of the queue's drops hit trains of the loser that are longer than the winner's."""
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


def burstiness_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return pacing or single packets for the loser, none for the winner, and room for the trains in the queue."""
    side, other = pair.loser, pair.winner
    found = [
        changes.cure(
            Touches.MECHANISM,
            Target.LOSER,
            changes.tuned(side.trial, "server", {"pacing": True}, {"tcp_pacing": True}, "pacing"),
        ),
        changes.cure(
            Touches.MECHANISM,
            Target.LOSER,
            changes.tuned(side.trial, "server", {"gso": False}, {}, "no segmentation offload"),
        ),
        changes.transplant(
            Touches.MECHANISM,
            changes.tuned(other.trial, "server", {"pacing": False}, {"tcp_pacing": False}, "no pacing"),
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


BURSTINESS = Cause(
    name="burstiness",
    title="Bursts overflow the queue",
    sentence="its packets come in trains of about {dose:.0f}, which the queue has no room for",
    source="Kempf et al., QUIC Steps, CoNEXT 2025; RFC 9002, 7.7; picoquic#1959",
    role="server",
    classes=SENDER_WAITS,
    needs=(),
    detect=burstiness_sign,
    interventions=burstiness_changes,
    cured_by="pacing; no segmentation offload; a queue that holds the trains",
    where="at drops of the queue, which has no room for its trains of packets",
)
"""The sender's packets come in trains that the queue cannot hold, though it could hold them spread out."""


_QUEUES_BDP = (0.25, 0.5, 1)


def self_queueing_sign(pair: Pair) -> Sign | None:
    """Return a sign if the first bytes of the loser's critical objects wait in the queue for more than a round trip,
    and for longer than the winner's.
    """
    own_ns, other_ns = waited_ns(pair.loser), waited_ns(pair.winner)
    if own_ns <= pair.loser.round_trip_ns or own_ns <= other_ns:
        return None
    text = f"the first packets of critical objects wait in the queue for {own_ns / 1e6:.1f} ms, in the other arm"
    shown = Evidence(0, f"{text} for {other_ns / 1e6:.1f} ms")
    more_ns = min(own_ns - other_ns, pair.loser.load_ns - pair.winner.load_ns)
    return Sign(more_ns, (shown,), dose=own_ns / 1e6)


def waited_ns(side: Side) -> int:
    """Return how long the first packets of all critical objects waited for the bottleneck together."""
    objects, link = ObjectFacts.of(side.timeline, side.trial), side.down
    arrivals = np.where(link.ours & link.delivered & link.carries_data, link.arrival_ns, NEVER)
    own = np.flatnonzero(arrivals < NEVER)
    if len(own) == 0:
        return 0
    answered = objects.answered_ns[objects.critical]
    place = np.searchsorted(arrivals[own], answered, side="left")
    return int(wait_ns(link)[own[place[place < len(own)]]].sum())


def self_queueing_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a queue for each flow and shorter queues, for both arms."""
    doses = [(bdp, changes.path({"queue": f"{bdp:g}bdp"}, f"a queue of {bdp:g} BDP")) for bdp in _QUEUES_BDP]
    fair = changes.path({"aqm": "fq_codel", "queue": "10240packets"}, "FQ-CoDel")
    return [
        changes.cure(Touches.OCCASION, Target.BOTH, fair),
        changes.cure(Touches.OCCASION, Target.BOTH, doses[0][1]),
        *changes.doses(Touches.OCCASION, Target.BOTH, doses),
    ]


SELF_QUEUEING = Cause(
    name="self_queueing",
    title="Own queue",
    sentence="where the beginnings of its objects wait behind its own packets in the queue, for {dose:.0f} ms",
    source="Gettys and Nichols, 2011 (bufferbloat); RFC 7567",
    role="server",
    classes=(),
    needs=(),
    detect=self_queueing_sign,
    interventions=self_queueing_changes,
    cured_by="FQ-CoDel; a shorter queue",
    says=Says.WHERE,
)
"""The load's own packets fill the queue, and its next requests and answers wait behind them."""


CAUSES = (PACING_LIMITED, MODEL_ERROR, BURSTINESS, SELF_QUEUEING)
