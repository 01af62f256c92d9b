"""Proofs that a knob has its effect: one entry for each name of adapters/CONTRACT.md and of single stacks.

A proof compares two values on the wire or in a log, and fails where nothing can be told apart. A role in which the
setting decides nothing that this laboratory transfers is not applicable, and says why.
"""

from collections.abc import Callable, Mapping

from longlook.conformance import Check
from longlook.conformance.proofs import acks, congestion, datagrams, pace, recovery, start, streams, windows
from longlook.conformance.proofs.ask import Ask

Proof = Callable[[Ask], Check]

PROOFS: Mapping[str, Proof] = {
    name: proof
    for module in (windows, streams, congestion, recovery, pace, acks, datagrams, start)
    for name, proof in module.PROOFS.items()
}

OVER_TCP = frozenset({"max_incoming_streams"})
"""Knobs that mean something with h2 too."""
