"""Causes: an end that is busy or idle instead of sending, such as a thinking server or a full processor."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import (
    Cause,
    Finding,
    Intervention,
    LedgerClass,
    Pair,
    Says,
    Side,
    Sign,
    Stretches,
    Surgery,
    Target,
    Touches,
    Untestable,
    changes,
    during,
    stretches,
    stretches_shown,
)

_CLIENT_IDLE_CLASSES = (LedgerClass.CLIENT_IDLE,)


def client_idle_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client has nothing on its way for longer."""
    more_ns, side = pair.excess_ns(*_CLIENT_IDLE_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_CLIENT_IDLE_CLASSES)
    shown = stretches_shown(side, found, "everything asked for has arrived, and nothing more is asked for")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def client_idle_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's client for the loser, and one that computes as fast as it can."""
    found = [changes.winners_program(pair, "client"), *changes.freed(pair.loser.trial, "client")]
    return [changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in found]


CLIENT_IDLE = Cause(
    name="client_idle",
    title="Idle client",
    sentence="its client has nothing asked for and nothing on its way for {dose:.0f} ms between objects",
    source="Wang et al., WProf, NSDI 2013",
    role="client",
    classes=_CLIENT_IDLE_CLASSES,
    needs=(),
    detect=client_idle_sign,
    interventions=client_idle_changes,
    cured_by="the winner's client; more of a CPU for it",
)
"""The client asks for the next object later than the last one came."""


_SERVER_THINK_CLASSES = (LedgerClass.SERVER_THINK,)
_AT_ONCE_NS = 1_000_000


def server_think_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server is longer at work before the first bytes of its answers."""
    side, found = pair.loser, thinking(pair.loser)
    more_ns = min(found.total_ns - thinking(pair.winner).total_ns, pair.excess_ns(*_SERVER_THINK_CLASSES))
    if more_ns <= 0:
        return None
    shown = stretches_shown(side, found, "a request has arrived, and nothing of its answer has left")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6, transplant=_held(pair.winner, more_ns))


def thinking(side: Side) -> Stretches:
    """Return the times before answers that did not end with a packet from the client, which the server waited for then.

    A limit of streams or of credit also keeps an answer from its first byte.
    """
    found, link = stretches(side, *_SERVER_THINK_CLASSES), side.up
    reached = np.sort(link.departure_ns[link.ours & link.delivered])
    last = np.append(reached, -1)[np.searchsorted(reached, found.end_ns, side="right") - 1]
    return found.where((last <= found.begin_ns) | (found.end_ns - last > _AT_ONCE_NS))


def _held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the first answer of a load for a time; None if the load has no answer."""
    link = side.down
    requests = link.ours & link.carries_data & link.delivered & ~link.handshake & during(side, link.arrival_ns)
    after = side.start_ns + side.totals.get(LedgerClass.HANDSHAKE, 0) + side.totals.get(LedgerClass.REQUEST, 0) // 2
    answers = np.flatnonzero(requests & (link.arrival_ns >= after))
    return Surgery(down=f"hold {int(link.sequence[answers[0]])} {time_ns}ns") if len(answers) else None


def server_think_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's server for the loser, and the winner's first answer held back by as much."""
    return [
        changes.cure(Touches.PROGRAM, Target.LOSER, changes.winners_program(pair, "server")),
        changes.transplant(
            Touches.OCCASION,
            changes.inflicted(
                finding, "its first answer held back as long as the loser's server thinks", "the winner has no answer"
            ),
        ),
    ]


SERVER_THINK = Cause(
    name="server_think",
    title="Slow server",
    sentence="while its server takes {dose:.0f} ms from requests to the first bytes of its answers",
    source="Siekkinen et al., Computer Networks 2008",
    role="server",
    classes=_SERVER_THINK_CLASSES,
    needs=(),
    detect=server_think_sign,
    interventions=server_think_changes,
    cured_by="the winner's server; the winner's first answer held back",
    says=Says.WHERE,
)
"""The server takes longer from a request to its answer."""


_APPLICATION_LIMITED_CLASSES = (LedgerClass.APPLICATION,)


def application_limited_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's transport waits longer for its program."""
    more_ns, side = pair.excess_ns(*_APPLICATION_LIMITED_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_APPLICATION_LIMITED_CLASSES)
    shown = stretches_shown(side, found, "the window has room, and the program gives nothing to send")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def application_limited_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's server for the loser: all of them serve from memory, so nothing else could be faster."""
    return [
        changes.cure(Touches.PROGRAM, Target.LOSER, changes.winners_program(pair, "server")),
        changes.transplant(Touches.PROGRAM, "no setting makes a server's program slower than it is"),
    ]


APPLICATION_LIMITED = Cause(
    name="application_limited",
    title="Nothing to send",
    sentence="while its server's program gives the transport nothing to send, for {dose:.0f} ms",
    source="Zhang et al., T-RAT, SIGCOMM 2002; RFC 9002, 7.8",
    role="server",
    classes=_APPLICATION_LIMITED_CLASSES,
    needs=("app_limited",),
    detect=application_limited_sign,
    interventions=application_limited_changes,
    cured_by="the winner's server",
    says=Says.WHERE,
)
"""The server's program gives its transport nothing to send, in the middle of an answer."""


_ENDPOINT_CPU_CLASSES = (LedgerClass.CPU,)
_THRESHOLDS = (2, 5, 10)


def endpoint_cpu_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's end is longer at work; in virtual time only a processor takes time."""
    more_ns, side = pair.excess_ns(*_ENDPOINT_CPU_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_ENDPOINT_CPU_CLASSES)
    shown = stretches_shown(side, found, "an acknowledgement has arrived, and the sender has not sent on")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def endpoint_cpu_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return less work for the loser: segmentation offload, fewer acknowledgements, ends that compute faster."""
    side = pair.loser
    doses = [
        (
            float(count),
            changes.tuned(
                side.trial, "client", {"ack_threshold": count}, {}, f"an acknowledgement for {count} packets"
            ),
        )
        for count in _THRESHOLDS
    ]
    found = [
        changes.cure(
            Touches.MECHANISM,
            Target.LOSER,
            changes.tuned(side.trial, "server", {"gso": True}, {}, "segmentation offload"),
        ),
        changes.cure(Touches.MECHANISM, Target.LOSER, doses[-1][1]),
    ]
    free = [change for role in ("server", "client") for change in changes.freed(side.trial, role)]
    found += [changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in free]
    return [*found, *changes.doses(Touches.MECHANISM, Target.LOSER, doses)]


ENDPOINT_CPU = Cause(
    name="endpoint_cpu",
    title="Computing at an end",
    sentence="its sender is still at work for {dose:.0f} ms after what it waited for has arrived",
    source="Jaeger et al., QUIC on the Highway, IFIP Networking 2023",
    role="server",
    classes=_ENDPOINT_CPU_CLASSES,
    needs=(),
    detect=endpoint_cpu_sign,
    interventions=endpoint_cpu_changes,
    cured_by="segmentation offload; fewer acknowledgements; more of a CPU",
)
"""An end has what it waited for and is still at work: in real time, or on a processor of its own."""


CAUSES = (CLIENT_IDLE, SERVER_THINK, APPLICATION_LIMITED, ENDPOINT_CPU)
