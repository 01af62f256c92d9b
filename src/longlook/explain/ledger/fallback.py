"""How long a client that chooses between QUIC and TCP waited for QUIC before it tried TCP. Pure."""

from typing import NamedTuple

import numpy as np

from longlook.core import EITHER, Trial, Vantage
from longlook.explain.facts.columns import Booleans, Integers
from longlook.explain.facts.link import LinkFacts
from longlook.explain.ledger.classes import Decisions, LedgerClass
from longlook.timeline import Kind, Timeline


class Fallback(NamedTuple):
    """The turn of a load from QUIC to TCP, in ns of the trial's clock."""

    silent_ns: int  # the load began, or QUIC brought its last packet before TCP was tried
    tried_ns: int  # the client's first packet of a connection over TCP that carried an object
    secure_ns: int  # that connection's handshake was done


def find_fallback(timeline: Timeline, trial: Trial, start_ns: int, data: LinkFacts, back: LinkFacts) -> Fallback | None:
    """Return when a load turned to TCP; None if the client could not choose, or TCP carried nothing.

    `data` and `back` are the link's two directions. A connection over TCP that lost the race to QUIC is none.
    """
    if trial.protocol != EITHER.name:
        return None
    flows = timeline.select(Kind.OBJECT_DONE)["flow"].to_pylist()
    carried = {flow for flow in flows if flow is not None and flow.startswith("tcp ")}
    tried = back.arrival_ns[_of_flows(back, carried)]
    if len(tried) == 0:
        return None
    tried_ns = int(tried.min())
    brought = data.departure_ns[data.ours & ~data.is_tcp & data.delivered & (data.departure_ns < tried_ns)]
    done = timeline.select(Kind.HANDSHAKE_DONE, Vantage.CLIENT).select(["time_ns", "flow"]).to_pylist()
    secure = [row["time_ns"] for row in done if row["flow"] in carried]
    return Fallback(max(start_ns, int(brought.max(initial=start_ns))), tried_ns, min(secure, default=tried_ns))


def _of_flows(facts: LinkFacts, names: set[str]) -> Booleans:
    codes = [code for code, name in enumerate(facts.flows) if name in names]
    return np.asarray(facts.ours & np.isin(facts.flow, codes), np.bool_)


def decide_fallback(decisions: Decisions, times_ns: Integers, found: Fallback | None) -> None:
    """Decide the intervals in which the client waits for QUIC before it tries TCP."""
    if found is not None:
        inside = (times_ns >= found.silent_ns) & (times_ns < found.tried_ns)
        decisions.decide(inside, LedgerClass.FALLBACK)
