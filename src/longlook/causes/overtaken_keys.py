"""Packets overtake the handshake, and the receiver, which cannot decrypt them yet, discards them."""

from collections.abc import Sequence

import numpy as np

from longlook.explain import changes
from longlook.explain.cause import (
    Cause,
    Change,
    Finding,
    Intervention,
    Says,
    Sign,
    Surgery,
    Target,
    Touches,
    Untestable,
)
from longlook.explain.facts import NEVER, Booleans, Integers
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import drops_shown

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.TIMER, LedgerClass.HANDSHAKE)
_BEHIND_NS = 1_000_000
_SENT_WITHIN_NS = 2_000_000
"""A log may have a packet a little earlier than the link: its program sends several at once."""


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server declared packets lost that reached the client before their keys did."""
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
        pair.excess_ns(*_CLASSES),
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


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return these packets held back until the handshake is through, the rest of the path as it was."""
    surgery = {number: sign.cure for number, sign in finding.signs.items() if sign.cure is not None}
    return [
        changes.cure(
            Touches.OCCASION, Target.LOSER, Change("these packets held back behind the handshake", surgery=surgery)
        )
    ]


CAUSE = Cause(
    name="overtaken_keys",
    title="Packets ahead of their keys",
    sentence="where packets overtake the handshake (about {dose:.0f} a load) that has their keys, and count as lost",
    source="RFC 9001, 5.7; RFC 9000, 12.2: a receiver may keep such packets, or discard them",
    role="client",
    classes=_CLASSES,
    needs=("packet_spurious", "packet_refused"),
    detect=detect,
    interventions=interventions,
    cured_by="these packets held back behind the handshake",
    says=Says.WHERE,
)
