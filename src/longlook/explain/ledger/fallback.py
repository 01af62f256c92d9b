"""How long a client that chooses between QUIC and TCP waited for QUIC before it tried TCP. Pure."""

from longlook.core.flows import EITHER
from longlook.core.model import Trial
from longlook.explain.facts.columns import Integers
from longlook.explain.facts.link import LinkFacts
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.rules import Decisions
from longlook.timeline.timeline import Kind, Timeline

Span = tuple[int, int]


def waited_for_quic(timeline: Timeline, trial: Trial, start_ns: int, data: LinkFacts, back: LinkFacts) -> Span | None:
    """Return from when until when nothing came over QUIC and TCP, which carried an object later, was not tried yet.

    It begins with the load, or with the last packet that QUIC brought to the client, and ends with the client's first
    packet over TCP. None where the client could not choose, or TCP carried nothing.
    """
    if trial.protocol != EITHER:
        return None
    carried = timeline.select(Kind.OBJECT_DONE)["flow"].to_pylist()
    over_tcp = back.arrival_ns[back.ours & back.is_tcp]
    if len(over_tcp) == 0 or not any(flow is not None and flow.startswith("tcp ") for flow in carried):
        return None
    end_ns = int(over_tcp.min())
    brought = data.departure_ns[data.ours & ~data.is_tcp & data.delivered & (data.departure_ns < end_ns)]
    return max(start_ns, int(brought.max(initial=start_ns))), end_ns


def decide_fallback(decisions: Decisions, times_ns: Integers, span: Span | None) -> None:
    """Decide the intervals in which the client waits for QUIC before it tries TCP."""
    if span is not None:
        decisions.decide((times_ns >= span[0]) & (times_ns < span[1]), LedgerClass.FALLBACK)
