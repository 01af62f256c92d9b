"""The connection takes more round trips before the first request."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import (
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    Says,
    Sign,
    Surgery,
    Target,
    Touches,
    Untestable,
)
from longlook.explain.facts import ACKNOWLEDGEMENT_BYTES, Integers, LinkFacts, OpeningFacts
from longlook.explain.ledger import BEHIND_PROXY, LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION, CLIENT, LOSS, SERVER
from longlook.explain.moments import hold, stretches
from longlook.explain.pair import Pair, Side

_WAITS = (LOSS, SERVER, CLIENT)
"""Details of the handshake that are waits: for a timer, or for an end at work."""
_AT_ONCE_NS = 1_000_000
"""A client may log that it is ready a little earlier than the link has the packet that made it so."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's client is ready for its first request after more flights there and back.

    Flights are counted on the link; what the handshake waits for an end or a timer is no round trip.
    """
    own, other = round_trips(pair.loser), round_trips(pair.winner)
    more_ns = _connecting_ns(pair.loser) - _connecting_ns(pair.winner)
    if own is None or other is None or own <= other or more_ns <= 0:
        return None
    text = f"the first request can leave after flights there and back: {own}, in the other arm {other}"
    shown = Evidence(_connecting_ns(pair.loser), text)
    return Sign(more_ns, (shown,), dose=float(own - other), transplant=_held(pair.winner, more_ns))


def round_trips(side: Side) -> int | None:
    """Return after how many flights to the server and back the client could send its first request.

    None where no connection was opened that the link saw. Packets with acknowledgements alone are no flight of QUIC.
    """
    opening = OpeningFacts.of(side.timeline, side.trial)
    if opening is None:
        return None
    there, back = (_flights(link) for link in (side.up, side.down))
    count, now_ns = 0, opening.started_ns
    while True:
        reached_ns = _first_arrival(there, now_ns)
        now_ns = -1 if reached_ns < 0 else _first_arrival(back, reached_ns)
        if now_ns < 0 or now_ns > opening.ready_ns + _AT_ONCE_NS:
            return count
        count += 1


def _flights(link: LinkFacts) -> tuple[Integers, Integers]:
    """Return when packets of flights came to a link and left it, in order of their coming."""
    own = link.ours & link.delivered & (link.is_tcp | (link.payload_bytes >= ACKNOWLEDGEMENT_BYTES))
    order = np.argsort(link.arrival_ns[own], kind="stable")
    return link.arrival_ns[own][order], link.departure_ns[own][order]


def _first_arrival(flights: tuple[Integers, Integers], since_ns: int) -> int:
    """Return when the first packet that was sent at or after a moment reached the other end; -1 where none was."""
    sent_ns, left_ns = flights
    place = int(np.searchsorted(sent_ns, since_ns, side="left"))
    return int(left_ns[place]) if place < len(sent_ns) else -1


def _connecting_ns(side: Side) -> int:
    """Return the time in handshakes without waits, and without that in which a request was on its way already.

    With early data a server may have to wait for the client's address to be validated while it answers: that is the
    handshake's doing, and the cause `amplification_limit`, but no round trip before the request. A proxy's handshake
    with the server is not the client's; that is the cause `proxy_connection`.
    """
    details, requests = side.ledger.details(LedgerClass.HANDSHAKE), stretches(side, LedgerClass.REQUEST)
    total_ns = sum(
        lasts_ns for text, lasts_ns in details.items() if text not in _WAITS and not str(text).startswith(BEHIND_PROXY)
    )
    if not len(requests):
        return total_ns
    limited = stretches(side, LedgerClass.HANDSHAKE, detail=AMPLIFICATION)
    return total_ns - limited.where(limited.begin_ns >= requests.begin_ns.min()).total_ns


def _held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the client's first flight for a time."""
    link = side.up
    first = link.ours & (link.arrival_ns >= side.start_ns) & (link.arrival_ns < side.start_ns + side.round_trip_ns)
    if not first.any():
        return None
    return Surgery(up=hold(link, first, time_ns))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's first flight held back by as long, which shows what the time costs, not what takes it."""
    held = {number: sign.transplant for number, sign in finding.signs.items() if sign.transplant is not None}
    late = Change("its first packets held back for as long as the loser's handshake is longer", surgery=held)
    found: list[Intervention | Untestable] = [changes.transplant(Touches.OCCASION, late)]
    if not changes.over_quic(pair.loser.trial):
        reason = "over TCP the transport's handshake comes before that of TLS, and no setting here takes it away"
        found.append(changes.cure(Touches.MECHANISM, Target.LOSER, reason))
    return found


CAUSE = Cause(
    name="handshake_round_trips",
    title="Longer handshake",
    sentence="before the first request, which its handshake lets leave later (round trips more: {dose:.0f})",
    source="Langley et al., SIGCOMM 2017, 3.1; Yu and Benson, WWW 2021",
    role="client",
    classes=(LedgerClass.HANDSHAKE,),
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's first packets held back",
    says=Says.WHERE,
)
