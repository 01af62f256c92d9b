"""The connection takes more round trips before the first request."""

from collections.abc import Sequence

from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Surgery, Target, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.side import Pair

_LEAST_ROUND_TRIPS = 0.5


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's handshake is half a round trip longer than the winner's, or more."""
    more_ns = pair.excess_ns(LedgerClass.HANDSHAKE)
    round_trips = more_ns / max(pair.loser.round_trip_ns, 1)
    if round_trips < _LEAST_ROUND_TRIPS:
        return None
    end_ns = pair.loser.totals.get(LedgerClass.HANDSHAKE, 0)
    shown = Evidence(
        end_ns, f"the first request leaves after {end_ns / max(pair.loser.round_trip_ns, 1):.1f} round trips"
    )
    return Sign(more_ns, (shown,), dose=round_trips)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a resumed connection with early data for the loser, and a longer handshake for the winner.

    The winner's first packet is held by the time that the loser's handshake takes longer, round by round; no stack
    gives up on its first packet that early, as timers before the first sample are at least 0.2 s (RFC 6298, RFC 9002).
    """
    trial = pair.loser.trial
    if changes.over_quic(trial):
        early: Change | str = Change("early data on a resumed connection", {"connection": "0rtt"})
    else:
        early = "TCP with TLS 1.3 takes two round trips also where it resumes a session"
    held = {
        number: Surgery(up=f"hold 0 {sign.strength_ns}ns")
        for number, sign in finding.signs.items()
        if sign.strength_ns < 200_000_000
    }
    late = Change("its first packet held back as long as the loser's handshake takes longer", surgery=held)
    return [
        changes.cure(Target.LOSER, early),
        changes.transplant(late if held else "the difference is longer than a first timer, which would go off"),
    ]


CAUSE = Cause(
    name="handshake_round_trips",
    title="Longer handshake",
    sentence="its handshake takes about {dose:.1f} round trips more before the first request",
    source="Langley et al., SIGCOMM 2017, 3.1; Yu and Benson, WWW 2021",
    role="client",
    classes=(LedgerClass.HANDSHAKE,),
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="early data; the winner's first packet held back",
)
