"""The connection takes more round trips before the first request."""

from collections.abc import Sequence

from longlook.core.model import ConnectionState
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Surgery, Target, Untestable
from longlook.explain.ledger import BEHIND_PROXY, LedgerClass
from longlook.explain.ledger.handshake import AMPLIFICATION
from longlook.explain.moments import hold, stretches
from longlook.explain.side import Pair, Side

_LEAST_ROUND_TRIPS = 0.5


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's handshake is half a round trip longer than the winner's, or more."""
    round_trip_ns = max(pair.loser.round_trip_ns, 1)
    own_ns, other_ns = _connecting_ns(pair.loser), _connecting_ns(pair.winner)
    more_ns = own_ns - other_ns
    if more_ns < _LEAST_ROUND_TRIPS * round_trip_ns:
        return None
    text = f"the first request leaves after {own_ns / round_trip_ns:.1f} round trips, in the other arm after"
    shown = Evidence(own_ns, f"{text} {other_ns / round_trip_ns:.1f}")
    return Sign(more_ns, (shown,), dose=more_ns / round_trip_ns, transplant=_held(pair.winner, more_ns))


def _connecting_ns(side: Side) -> int:
    """Return the time in handshakes without that in which a request was on its way already.

    With early data a server may have to wait for the client's address to be validated while it answers: that is the
    handshake's doing, and the cause `amplification_limit`, but no round trip before the request. A proxy's handshake
    with the server is not the client's; that is the cause `proxy_connection`.
    """
    details, requests = side.ledger.details(LedgerClass.HANDSHAKE), stretches(side, LedgerClass.REQUEST)
    total_ns = sum(lasts_ns for text, lasts_ns in details.items() if not str(text).startswith(BEHIND_PROXY))
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
    """Return early data for the loser; for the winner none, and its first flight held back by what the loser needs."""
    trial, other = pair.loser.trial, pair.winner.trial
    if changes.has_early_data(trial):
        early: Change | str = Change("early data on a resumed connection", {"connection": "0rtt"})
    else:
        early = "these programs have no early data over TCP: a resumed session takes as many round trips as a new one"
    held = {number: sign.transplant for number, sign in finding.signs.items() if sign.transplant is not None}
    late = Change("its first packets held back for as long as the loser's handshake is longer", surgery=held)
    found = [changes.cure(Target.LOSER, early), changes.transplant(late)]
    if other.connection is ConnectionState.ZERO_RTT:
        found.append(changes.transplant(Change("no early data", {"connection": "resumed"})))
    return found


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
    cured_by="early data; the winner's first packets held back",
)
