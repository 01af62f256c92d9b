"""The client's acknowledgements are few, late or lost, so that the sender's window does not move."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.facts import Integers
from longlook.explain.facts.columns import NEVER
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import drops, during, wait_ns
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.ACK_WAIT, LedgerClass.CONGESTION_WINDOW, LedgerClass.TIMER)
_FEW, _TIMES_AS_FEW, _LOST, _LATE = 4, 2, 0.1, 0.5
_RARE = 10
_MATTERS = 0.25
"""The part of a round trip, in packets or in time, below which an acknowledgement that is later changes little."""
_THRESHOLDS = (1, 2, 5, _RARE)


@dataclass(frozen=True)
class Acknowledging:
    """How a load was acknowledged: data packets for each packet back, also as a share of those of a round trip; the
    share lost; the mean wait in the uplink; how long data waits at the client for the next packet back, on average.
    """

    data_per_packet: float
    share_of_flight: float
    lost_share: float
    wait_ns: float
    held_ns: float

    @classmethod
    def of(cls, side: Side) -> "Acknowledging | None":
        """Return how a side's load was acknowledged; None where nothing came back."""
        up, down = side.up, side.down
        back = up.ours & during(side, up.arrival_ns) & ~up.copy
        data = down.ours & down.delivered & down.carries_data & during(side, down.arrival_ns)
        arrived = back & up.delivered
        if not arrived.any():
            return None
        lost = int(drops(side, up).sum()) / int(back.sum())
        each = int(data.sum()) / int(arrived.sum())
        flight = int(data.sum()) * side.round_trip_ns / max(side.load_ns, 1)
        waits = float(wait_ns(up)[arrived].mean())
        return cls(each, each / max(flight, 1.0), lost, waits, _held_ns(down.departure_ns[data], up.arrival_ns[back]))


def _held_ns(reached_ns: Integers, back_ns: Integers) -> float:
    """Return how long after data reached the client it sent something back, on average over data that it answered."""
    place = np.searchsorted(np.sort(back_ns), reached_ns, side="left")
    waits = np.append(np.sort(back_ns), NEVER)[place] - reached_ns
    return float(waits[place < len(back_ns)].mean()) if (place < len(back_ns)).any() else 0.0


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's acknowledgements are half as frequent as the winner's, for so many packets of a
    round trip that it matters, or are lost or late.
    """
    own, other = Acknowledging.of(pair.loser), Acknowledging.of(pair.winner)
    if own is None or other is None:
        return None
    texts = {
        f"one packet back for {own.data_per_packet:.1f} packets with data, in the other arm for "
        f"{other.data_per_packet:.1f}": own.data_per_packet >= max(_FEW, _TIMES_AS_FEW * other.data_per_packet)
        and own.share_of_flight >= _MATTERS,
        f"data waits at the client for {own.held_ns / 1e6:.1f} ms until it sends something back, in the other arm for "
        f"{other.held_ns / 1e6:.1f} ms": own.held_ns
        >= max(_TIMES_AS_FEW * other.held_ns, _MATTERS * pair.loser.round_trip_ns, 1),
        f"{100 * own.lost_share:.0f} % of the packets to the server are lost": own.lost_share >= _LOST,
        f"packets to the server wait for {own.wait_ns / 1e6:.1f} ms": own.wait_ns
        >= _LATE * max(pair.loser.round_trip_ns, 1),
    }
    shown = tuple(Evidence(0, text) for text, holds in texts.items() if holds)
    return Sign(pair.excess_ns(*_CLASSES), shown, dose=own.data_per_packet) if shown else None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return frequent acknowledgements for the loser, rare ones for the winner; where the uplink holds them back, rare
    ones for the loser, and an uplink that holds none back.
    """
    own, rate_bps = Acknowledging.of(pair.loser), pair.loser.up.rate_bps
    rarer = max(_RARE, 2 * round(finding.dose or 0))
    held_back = own is not None and (own.lost_share >= _LOST or own.wait_ns >= _LATE * pair.loser.round_trip_ns)
    found = [
        changes.cure(Touches.MECHANISM, Target.LOSER, _acknowledged(pair.loser, rarer if held_back else 1)),
        changes.transplant(Touches.MECHANISM, _acknowledged(pair.winner, max(2, round(finding.dose or 2)))),
    ]
    if held_back and rate_bps is not None:
        fast = {"network.up.rate": f"{10 * int(rate_bps)}bit", "network.up.queue": "1000packets"}
        free = Change("an uplink ten times as fast that loses nothing", {**fast, "network.up.loss": "0%"})
        found.append(changes.cure(Touches.OCCASION, Target.BOTH, free))
    doses = [(float(count), _acknowledged(pair.loser, count)) for count in _THRESHOLDS]
    return [*found, *changes.doses(Touches.MECHANISM, Target.LOSER, doses)]


def _acknowledged(side: Side, packets: int) -> Change | str:
    label = f"an acknowledgement for every {packets} packets" if packets > 1 else "every packet acknowledged at once"
    at_once = {"tcp_quickack": True} if packets == 1 else {}
    return remedies.tuned(side.trial, "client", {"ack_threshold": packets}, at_once, label)


CAUSE = Cause(
    name="ack_starvation",
    title="Few or late acknowledgements",
    sentence="its acknowledgements (one for {dose:.1f} packets with data) are late, lost or too few",
    source="RFC 3449; Custura, Secchi and Fairhurst, 2020; quiche#2136",
    role="client",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="every packet acknowledged; an uplink ten times as fast",
    where="where acknowledgements wait or are lost on their way to the server",
)
