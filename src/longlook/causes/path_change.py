"""The client's address changes in the middle of the load, and the connection has to follow."""

from collections.abc import Sequence

import numpy as np

from longlook.core.model import Vantage
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Evidence, Finding, Intervention, Says, Sign, Target, Touches, Untestable
from longlook.explain.facts import Integers
from longlook.explain.facts.columns import integers
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import SENDER_WAITS, drops, during
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import MOST_EVIDENCE
from longlook.timeline.timeline import Kind

_CHANGED = "client's port changed"
_CLASSES = (*SENDER_WAITS, LedgerClass.REQUEST, LedgerClass.SERVER_THINK)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the client's port changes in the loser's load, and the loser waits for longer."""
    side = pair.loser
    times = rebound(side)
    if len(times) == 0:
        return None
    lost = int((drops(side, side.down)).sum())
    shown = tuple(
        Evidence(time_ns - side.start_ns, "packets to the server come from another port")
        for time_ns in times[:MOST_EVIDENCE].tolist()
    )
    counted = (Evidence(0, f"{lost} packets to the client are dropped"),) if lost else ()
    return Sign(pair.excess_ns(*_CLASSES), (*shown, *counted), dose=float(len(times)))


def rebound(side: Side) -> Integers:
    """Return when the first packet with another port passed the link, for each change within the load."""
    rows = side.timeline.select(Kind.PACKET_DELIVERED, Vantage.LINK)
    texts = rows["detail"].to_pylist()
    changed = np.array([text is not None and _CHANGED in text for text in texts], np.bool_)
    upward = np.array([text == "up" for text in rows["direction"].to_pylist()], np.bool_)
    times = integers(rows["time_ns"])
    order = np.flatnonzero(upward)[np.argsort(times[upward], kind="stable")]
    begins = changed[order] & ~np.concatenate([[False], changed[order][:-1]])
    found = times[order][begins]
    return np.asarray(found[during(side, found)], np.int64)


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return a path on which the client keeps its port, for both arms."""
    return [
        changes.cure(
            Touches.OCCASION, Target.BOTH, remedies.both_ways({"rebind_at": "off"}, "a client that keeps its port")
        )
    ]


CAUSE = Cause(
    name="path_change",
    title="Changed address",
    sentence="where its client's address changes while it loads",
    source="RFC 9000, 9",
    role="path",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="a client that keeps its address",
    says=Says.WHERE,
)
