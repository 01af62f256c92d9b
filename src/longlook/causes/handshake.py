"""Causes: handshakes that take longer."""

from collections.abc import Sequence

import numpy as np

from longlook.core import ConnectionState, Vantage
from longlook.explain import (
    ACKNOWLEDGEMENT_BYTES,
    AMPLIFICATION,
    BEHIND_PROXY,
    CLIENT,
    LOSS,
    SERVER,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
    LinkFacts,
    OpeningFacts,
    Pair,
    Says,
    Side,
    Sign,
    Surgery,
    Target,
    Touches,
    Untestable,
    are,
    bounded_ns,
    changes,
    drops,
    drops_shown,
    during,
    hold,
    integers,
    numbers,
    stretches,
    stretches_shown,
)
from longlook.timeline import Kind

_WAITS = (LOSS, SERVER, CLIENT)
"""Details of the handshake that are waits: for a timer, or for an end at work."""
_AT_ONCE_NS = 1_000_000
"""A client may log that it is ready a little earlier than the link has the packet that made it so."""


def handshake_round_trips_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client is ready for its first request after more flights there and back.

    Flights are counted on the link; what the handshake waits for an end or a timer is no round trip.
    """
    own, other = round_trips(pair.loser), round_trips(pair.winner)
    more_ns = _connecting_ns(pair.loser) - _connecting_ns(pair.winner)
    if own is None or other is None or own <= other or more_ns <= 0:
        return None
    text = f"the first request can leave after flights there and back: {own}, in the other arm {other}"
    shown = Evidence(_connecting_ns(pair.loser), text)
    return Sign(
        more_ns, (shown,), dose=float(own - other), transplant=_handshake_round_trips_held(pair.winner, more_ns)
    )


def round_trips(side: Side) -> int | None:
    """Return after how many flights to the server and back the client could send its first request.

    None if no connection was opened that the link saw. Packets with acknowledgements alone are no flight of QUIC.
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
    """Return when the first packet that was sent at or after a moment reached the other end; -1 if none was."""
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


def _handshake_round_trips_held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the client's first flight for a time."""
    link = side.up
    first = link.ours & (link.arrival_ns >= side.start_ns) & (link.arrival_ns < side.start_ns + side.round_trip_ns)
    if not first.any():
        return None
    return Surgery(up=hold(link, first, time_ns))


def handshake_round_trips_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's first flight held back by as long, which shows what the time costs, not what takes it."""
    held = {number: sign.transplant for number, sign in finding.signs.items() if sign.transplant is not None}
    late = Change("its first packets held back for as long as the loser's handshake is longer", surgery=held)
    found: list[Intervention | Untestable] = [changes.transplant(Touches.OCCASION, late)]
    if not changes.over_quic(pair.loser.trial):
        reason = "over TCP the transport's handshake comes before that of TLS, and no setting here takes it away"
        found.append(changes.cure(Touches.MECHANISM, Target.LOSER, reason))
    return found


HANDSHAKE_ROUND_TRIPS = Cause(
    name="handshake_round_trips",
    title="Longer handshake",
    sentence="before the first request, which its handshake lets leave later (round trips more: {dose:.0f})",
    source="Langley et al., SIGCOMM 2017, 3.1; Yu and Benson, WWW 2021",
    role="client",
    classes=(LedgerClass.HANDSHAKE,),
    needs=(),
    detect=handshake_round_trips_sign,
    interventions=handshake_round_trips_changes,
    cured_by="the winner's first packets held back",
    says=Says.WHERE,
)
"""The connection takes more round trips before the first request."""


_HANDSHAKE_LOSS_CLASSES = (LedgerClass.HANDSHAKE,)


def handshake_loss_sign(pair: Pair) -> Sign | None:
    """Return a sign if a packet of the loser's handshake was dropped and the handshake waits for it."""
    side = pair.loser
    waits, whole = stretches(side, *_HANDSHAKE_LOSS_CLASSES, detail=LOSS), stretches(side, *_HANDSHAKE_LOSS_CLASSES)
    if len(waits) == 0:
        return None
    lost = {link.direction: drops(side, link) & (link.arrival_ns < whole.end_ns[-1]) for link in (side.up, side.down)}
    link = max((side.up, side.down), key=lambda link: int(lost[link.direction].sum()))
    which = lost[link.direction]
    if not which.any():
        return None
    shown = drops_shown(side, link, which, "a packet of the handshake is dropped")
    first = numbers(link, which)[0] - _first(side, link)
    return Sign(
        bounded_ns(pair, waits.total_ns, *_HANDSHAKE_LOSS_CLASSES),
        shown,
        dose=waits.total_ns / 1e6,
        packets=numbers(link, which),
        direction=link.direction,
        transplant=_dropped(pair.winner, link.direction, first),
    )


def _first(side: Side, link: LinkFacts) -> int:
    """Return the link's number of the load's first packet in a direction."""
    during = np.flatnonzero(link.ours & (link.arrival_ns >= side.start_ns))
    return int(link.sequence[during[0]]) if len(during) else 0


def _dropped(side: Side, direction: str, place: int) -> Surgery | None:
    """Return surgery that drops the winner's packet at the same place, if it is one of the handshake that passed."""
    link = side.up if direction == "up" else side.down
    whole = stretches(side, *_HANDSHAKE_LOSS_CLASSES)
    number = _first(side, link) + place
    same = (link.sequence == number) & link.delivered
    if len(whole) == 0 or not same.any() or int(link.arrival_ns[same][0]) >= whole.end_ns[-1]:
        return None
    return Surgery(up=f"drop {number}") if direction == "up" else Surgery(down=f"drop {number}")


def handshake_loss_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the handshake without its losses for the loser, and the same packet of the winner's handshake dropped."""
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, changes.forgiven(finding, "the losses of the handshake forgiven")),
        changes.transplant(
            Touches.OCCASION,
            changes.inflicted(
                finding, "the same packet of its handshake dropped", "the winner's handshake has no such packet"
            ),
        ),
    ]


HANDSHAKE_LOSS = Cause(
    name="handshake_loss",
    title="Loss in the handshake",
    sentence="at a lost packet of its handshake, which a timer sends again after about {dose:.0f} ms",
    source="RFC 6298, 2.1; RFC 9002, 6.2.2",
    role="path",
    classes=_HANDSHAKE_LOSS_CLASSES,
    needs=(),
    detect=handshake_loss_sign,
    interventions=handshake_loss_changes,
    cured_by="these packets forgiven; the same packet of the winner's dropped",
    says=Says.WHERE,
)
"""A packet of the handshake is lost, and its timer is long because no round trip has been measured."""


_HANDSHAKE_COMPUTING_CLASSES = (LedgerClass.HANDSHAKE,)


def handshake_computing_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's handshake waits for the server's computing, for longer than the winner's."""
    more_ns, side = (
        min(pair.excess_detail_ns(LedgerClass.HANDSHAKE, SERVER), pair.excess_ns(*_HANDSHAKE_COMPUTING_CLASSES)),
        pair.loser,
    )
    if more_ns <= 0:
        return None
    found = stretches(side, *_HANDSHAKE_COMPUTING_CLASSES, detail=SERVER)
    shown = stretches_shown(side, found, "the client's packets have arrived, and the server's answer has not left")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6, transplant=_handshake_computing_held(pair.winner, more_ns))


def _handshake_computing_held(side: Side, time_ns: int) -> Surgery | None:
    """Return surgery that holds back the server's first flight for a time."""
    link = side.down
    own = np.flatnonzero(link.ours & (link.arrival_ns >= side.start_ns))
    if len(own) == 0:
        return None
    flight = own[link.arrival_ns[own] < link.arrival_ns[own[0]] + max(side.round_trip_ns, 1)]
    return Surgery(down=hold(link, flight, time_ns))


def handshake_computing_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return free computing and the winner's server for the loser, and an equally late first answer for the winner."""
    found: list[Intervention | Untestable] = [
        changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in changes.freed(pair.loser.trial, "server")
    ]
    held = changes.inflicted(
        finding, "its server's first answer held back for as long", "the winner's server sends nothing to hold back"
    )
    return [
        *found,
        changes.cure(Touches.PROGRAM, Target.LOSER, changes.winners_program(pair, "server")),
        changes.transplant(Touches.OCCASION, held),
    ]


HANDSHAKE_COMPUTING = Cause(
    name="handshake_computing",
    title="Server at work in the handshake",
    sentence="its server computes for {dose:.0f} ms before it answers in the handshake",
    source="RFC 9000, 7; Nawrocki et al., CoNEXT 2022 (instant acknowledgements)",
    role="server",
    classes=_HANDSHAKE_COMPUTING_CLASSES,
    needs=(),
    detect=handshake_computing_sign,
    interventions=handshake_computing_changes,
    cured_by="free computing; the winner's server",
    where="while its server computes before it answers in the handshake",
)
"""The server is at work before it answers in the handshake: a wait at an end, and no round trip."""


_RETRY_ROUND_TRIP_CLASSES = (LedgerClass.HANDSHAKE,)
_FORMS = {"retry": "a Retry arrives", "version_negotiation": "the server names other versions of QUIC"}


def retry_round_trip_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's handshake has a Retry or a negotiation of versions, and is the longer one."""
    side = pair.loser
    shown = [
        Evidence(int(time_ns) - side.start_ns, text)
        for form, text in _FORMS.items()
        if len(_seen(pair.winner, form)) < len(_seen(side, form))
        for time_ns in _seen(side, form)
    ]
    return Sign(pair.excess_ns(*_RETRY_ROUND_TRIP_CLASSES), tuple(shown), dose=float(len(shown))) if shown else None


def _seen(side: Side, form: str) -> Integers:
    """Return when packets of a form left the link towards the client, in the load."""
    rows = side.timeline.select(Kind.PACKET_DELIVERED, Vantage.LINK)
    times = integers(rows["time_ns"])[are(rows["quic"], form) & are(rows["direction"], "down")]
    return np.sort(times[during(side, times)])


def retry_round_trip_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return no Retry for the loser, and one for the winner."""
    if len(_seen(pair.loser, "retry")) == 0:
        return [
            changes.cure(Touches.MECHANISM, Target.LOSER, "which version of QUIC comes first is no knob of a stack")
        ]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _retrying(pair.loser, False)),
        changes.transplant(Touches.MECHANISM, _retrying(pair.winner, True)),
    ]


def _retrying(side: Side, on: bool) -> Change | str:
    if not changes.over_quic(side.trial):
        return "TCP has no Retry"
    return changes.knob(side.trial, "server", "retry", on, "a Retry" if on else "no Retry")


RETRY_ROUND_TRIP = Cause(
    name="retry_round_trip",
    title="Retry or version negotiation",
    sentence="its server answers the first packet with a Retry or with other versions, which takes a round trip",
    source="RFC 9000, 8.1.2 and 6",
    role="server",
    classes=_RETRY_ROUND_TRIP_CLASSES,
    needs=(),
    detect=retry_round_trip_sign,
    interventions=retry_round_trip_changes,
    cured_by="no Retry; a Retry for the winner",
)
"""The server answers the client's first packet with a Retry, or with other versions of QUIC."""


_AMPLIFICATION_LIMIT_CLASSES = (LedgerClass.HANDSHAKE,)


def amplification_limit_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server waits longer at three times what it received, in a longer handshake."""
    side = pair.loser
    more_ns = min(
        pair.excess_detail_ns(LedgerClass.HANDSHAKE, AMPLIFICATION), pair.excess_ns(*_AMPLIFICATION_LIMIT_CLASSES)
    )
    waits = stretches(side, *_AMPLIFICATION_LIMIT_CLASSES, detail=AMPLIFICATION)
    if more_ns <= 0:
        return None
    shown = stretches_shown(
        side, waits, "the server has sent three times what it received, and more to send, and waits"
    )
    return Sign(
        more_ns,
        shown,
        dose=waits.total_ns / 1e6,
        transplant=_amplification_limit_held(pair, int(waits.begin_ns[0]), more_ns),
    )


def _amplification_limit_held(pair: Pair, wait_ns: int, time_ns: int) -> Surgery | None:
    """Return surgery that holds back packets of the winner's server for a time: everything at the start beyond the
    bytes that the loser's server had sent when it began to wait. None if the winner's server sends no more.
    """
    own, link = pair.loser.down, pair.winner.down
    sent_bytes = int(own.payload_bytes[own.ours & (own.arrival_ns <= wait_ns)].sum())
    theirs = np.flatnonzero(link.ours & ~link.copy)
    beyond = theirs[np.cumsum(link.payload_bytes[theirs]) > sent_bytes]
    if len(beyond) == 0:
        return None
    flight = beyond[link.arrival_ns[beyond] < link.arrival_ns[beyond[0]] + time_ns]
    return Surgery(down=hold(link, flight, time_ns))


def amplification_limit_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a resumed session for the loser, in which the server sends no certificate; the wait, for the winner."""
    resumed: Change | str = "the session is resumed already: there is no certificate to leave out"
    if pair.loser.trial.connection is ConnectionState.COLD:
        resumed = Change("a resumed session, without a certificate", {"connection": str(ConnectionState.RESUMED)})
    return [
        changes.cure(Touches.OCCASION, Target.LOSER, resumed),
        changes.transplant(
            Touches.OCCASION,
            changes.inflicted(
                finding,
                "what its server sends beyond as many bytes held back for as long as the loser's waits",
                "the winner's server sends no more than that",
            ),
        ),
    ]


AMPLIFICATION_LIMIT = Cause(
    name="amplification_limit",
    title="Amplification limit",
    sentence="where its server may send only three times what it received, and waits {dose:.0f} ms for the client",
    source="RFC 9000, 8.1; Nawrocki et al., CoNEXT 2022; base-drafts#3784",
    role="server",
    classes=_AMPLIFICATION_LIMIT_CLASSES,
    needs=(),
    detect=amplification_limit_sign,
    interventions=amplification_limit_changes,
    cured_by="a resumed session, which needs no certificate; the winner's server kept waiting as long",
    says=Says.WHERE,
)
"""The server may send no more to an address that is not validated yet, and waits for the client."""


CAUSES = (HANDSHAKE_ROUND_TRIPS, HANDSHAKE_LOSS, HANDSHAKE_COMPUTING, RETRY_ROUND_TRIP, AMPLIFICATION_LIMIT)
