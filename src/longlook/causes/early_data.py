"""Causes: a first request or answer that waits, because early data, keys or the choice of a protocol come late."""

from collections.abc import Sequence

import numpy as np

from longlook.core import ConnectionState
from longlook.explain import (
    NEVER,
    Booleans,
    Cause,
    Change,
    Evidence,
    Finding,
    Integers,
    Intervention,
    LedgerClass,
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
    drops_shown,
    during,
    numbers,
    stretches,
    stretches_shown,
)
from longlook.timeline import Kind

_NO_EARLY_DATA_CLASSES = (LedgerClass.HANDSHAKE,)


def no_early_data_sign(pair: Pair) -> Sign | None:
    """Return a sign if the winner sends early data, the loser sends none, and its handshake costs it more time."""
    sent, link = _early(pair.winner), pair.winner.up
    if not sent.any() or _early(pair.loser).any():
        return None
    first = int(np.flatnonzero(sent)[0])
    text = "the other arm sends its first request as early data, and this arm sends none"
    shown = Evidence(int(link.arrival_ns[first]) - pair.winner.start_ns, text, numbers(link, sent)[:1])
    return Sign(bounded_ns(pair, pair.winner.round_trip_ns, *_NO_EARLY_DATA_CLASSES), (shown,))


def _early(side: Side) -> np.ndarray:
    return np.asarray(side.up.ours & side.up.early & during(side, side.up.arrival_ns), np.bool_)


def no_early_data_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return early data for the loser, and none for the winner."""
    early: Change | str = "these programs have no early data over TCP: a resumed session takes as long as a new one"
    if changes.has_early_data(pair.loser.trial):
        early = Change("early data on a resumed connection", {"connection": str(ConnectionState.ZERO_RTT)})
    without = Change("no early data", {"connection": str(ConnectionState.RESUMED)})
    return [changes.cure(Touches.MECHANISM, Target.LOSER, early), changes.transplant(Touches.MECHANISM, without)]


NO_EARLY_DATA = Cause(
    name="no_early_data",
    title="No early data",
    sentence="it sends its first request after the handshake, and the other arm with its first packets (early data)",
    source="RFC 8446, 2.3; RFC 9001, 4.6; Langley et al., SIGCOMM 2017, 3.1",
    role="client",
    classes=_NO_EARLY_DATA_CLASSES,
    needs=(),
    detect=no_early_data_sign,
    interventions=no_early_data_changes,
    cured_by="early data; none for the winner",
)
"""The winner sends its first request with its first packets (early data), and the loser after its handshake."""


_EARLY_DATA_REFUSED_CLASSES = (LedgerClass.HANDSHAKE, LedgerClass.REQUEST, LedgerClass.SERVER_THINK)


def early_data_refused_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client sent early data and its handshake ended without."""
    side, link = pair.loser, pair.loser.up
    sent = link.ours & link.early & during(side, link.arrival_ns)
    done = side.timeline.select(Kind.HANDSHAKE_DONE, "client")
    if not sent.any() or done.num_rows == 0 or are(done["name"], ConnectionState.ZERO_RTT).any():
        return None
    first = int(np.flatnonzero(sent)[0])
    shown = Evidence(
        int(link.arrival_ns[first]) - side.start_ns, "early data is sent that does not count", numbers(link, sent)[:1]
    )
    return Sign(pair.excess_ns(*_EARLY_DATA_REFUSED_CLASSES), (shown,), dose=float(sent.sum()))


def early_data_refused_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a server that accepts early data for the loser, and none sent in the winner."""
    accepts = changes.knob(pair.loser.trial, "server", "allow_0rtt", True, "early data accepted")
    without: Change | str = "the winner sends no early data"
    if pair.winner.trial.connection is ConnectionState.ZERO_RTT:
        without = Change("no early data", {"connection": str(ConnectionState.RESUMED)})
    return [changes.cure(Touches.MECHANISM, Target.LOSER, accepts), changes.transplant(Touches.MECHANISM, without)]


EARLY_DATA_REFUSED = Cause(
    name="early_data_refused",
    title="Early data refused",
    sentence="its early data (packets: {dose:.0f}) is refused by the server and sent again after the handshake",
    source="RFC 9001, 4.6.2",
    role="server",
    classes=_EARLY_DATA_REFUSED_CLASSES,
    needs=(),
    detect=early_data_refused_sign,
    interventions=early_data_refused_changes,
    cured_by="a server that accepts early data",
)
"""The client sends early data, and the server refuses it."""


_OVERTAKEN_KEYS_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.ACK_WAIT,
    LedgerClass.TIMER,
    LedgerClass.HANDSHAKE,
)
_BEHIND_NS = 1_000_000
_SENT_WITHIN_NS = 2_000_000
"""A log may have a packet a little earlier than the link: its program sends several at once."""


def overtaken_keys_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server declared packets lost that reached the client before their keys did."""
    early, late_ns = _overtaking(pair.loser)
    early[early] = _declared_lost(pair.loser, pair.loser.down.arrival_ns[early])
    if not early.any():
        return None
    link = pair.loser.down
    holds = [
        f"hold {sequence} {until - left + _BEHIND_NS}ns"
        for sequence, left, until in zip(
            link.sequence[early].tolist(), link.departure_ns[early].tolist(), late_ns[early].tolist(), strict=True
        )
    ]
    return Sign(
        pair.excess_ns(*_OVERTAKEN_KEYS_CLASSES),
        drops_shown(
            pair.loser, link, early, "a packet overtakes the handshake that has its keys, and is declared lost"
        ),
        dose=float(early.sum()),
        cure=Surgery(down="; ".join(holds)),
    )


def _overtaking(side: Side) -> tuple[Booleans, Integers]:
    """Return which packets left the link before a packet of the handshake that was sent earlier, and when that left."""
    link = side.down
    handshake = link.ours & link.handshake & link.delivered
    late_ns = np.maximum.accumulate(np.where(handshake, link.departure_ns, -1))
    found: Booleans = link.ours & ~link.handshake & link.delivered & (link.departure_ns < late_ns)
    return found, late_ns


def _declared_lost(side: Side, arrivals_ns: Integers) -> Booleans:
    """Return which packets, by their arrival at the link, the server declared lost although they arrived."""
    sender = side.server
    if sender is None:
        return np.zeros(len(arrivals_ns), np.bool_)
    delivered = np.concatenate([sender.spurious.packet_number, sender.refused.packet_number])
    sent_ns = np.sort(sender.sent.time_ns[np.isin(sender.sent.packet_number, delivered)])
    last_ns = np.append(NEVER, sent_ns)[np.searchsorted(sent_ns, arrivals_ns, side="right")]
    return np.asarray((last_ns != NEVER) & (arrivals_ns - last_ns < _SENT_WITHIN_NS), np.bool_)


def overtaken_keys_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return these packets held back until the handshake is through, the rest of the path as it was."""
    surgery = {number: sign.cure for number, sign in finding.signs.items() if sign.cure is not None}
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, Change("these packets held back behind the handshake", surgery=surgery)
        )
    ]


OVERTAKEN_KEYS = Cause(
    name="overtaken_keys",
    title="Packets ahead of their keys",
    sentence="where packets overtake the handshake (about {dose:.0f} a load) that has their keys, and count as lost",
    source="RFC 9001, 5.7; RFC 9000, 12.2: a receiver may keep such packets, or discard them",
    role="client",
    classes=_OVERTAKEN_KEYS_CLASSES,
    needs=("packet_spurious", "packet_refused"),
    detect=overtaken_keys_sign,
    interventions=overtaken_keys_changes,
    cured_by="these packets held back behind the handshake",
    says=Says.WHERE,
)
"""Packets overtake the handshake, and the receiver, which cannot decrypt them yet, discards them."""


_LATE_FALLBACK_CLASSES = (LedgerClass.FALLBACK,)
_SILENCE_S, _ROUND_TRIPS = 0.2, 3.0
"""The silence after which the cure gives QUIC up: longer than any answer on a path that works takes to begin."""


def late_fallback_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client waits for QUIC for longer than the winner's before it tries TCP."""
    more_ns, side = pair.excess_ns(*_LATE_FALLBACK_CLASSES), pair.loser
    if more_ns <= 0:
        return None
    found = stretches(side, *_LATE_FALLBACK_CLASSES)
    shown = stretches_shown(side, found, "nothing comes over QUIC, and TCP is not tried yet")
    return Sign(more_ns, shown, dose=found.total_ns / 1e6)


def late_fallback_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return TCP from the start, and TCP after a short silence of QUIC, for the loser."""
    trial = pair.loser.trial
    at_once = changes.knob(trial, "client", "fallback_delay", 0.0, "TCP tried from the start")
    silence_s = round(max(_SILENCE_S, _ROUND_TRIPS * pair.loser.round_trip_ns / 1e9), 3)
    early = changes.knob(trial, "client", "stall_timeout", silence_s, f"TCP after {silence_s:g} s without data of QUIC")
    return [changes.cure(Touches.MECHANISM, Target.LOSER, change) for change in (at_once, early)]


LATE_FALLBACK = Cause(
    name="late_fallback",
    title="Late fallback",
    sentence="its client waits {dose:.0f} ms for QUIC, which brings nothing, before it tries TCP",
    source="RFC 8305, 5; Langley et al., SIGCOMM 2017, section 7.5",
    role="client",
    classes=_LATE_FALLBACK_CLASSES,
    needs=(),
    detect=late_fallback_sign,
    interventions=late_fallback_changes,
    cured_by="TCP from the start; TCP after a short silence",
)
"""A client that chooses between QUIC and TCP waits for QUIC, which brings nothing, before it tries TCP."""


CAUSES = (NO_EARLY_DATA, EARLY_DATA_REFUSED, OVERTAKEN_KEYS, LATE_FALLBACK)
