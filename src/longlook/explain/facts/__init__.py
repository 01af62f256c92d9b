"""The facts of one trial that the ledger and detectors of causes read: arrays, computed once per timeline. Pure.

Causes also import `objects` (requests and answers), `credits` (limits at the start) and `columns` (arrays)."""

from longlook.explain.facts.columns import NEVER, Booleans, Integers, Steps
from longlook.explain.facts.link import ACKNOWLEDGEMENT_BYTES, DELIVERED, DROPPED, QUEUED, LinkFacts
from longlook.explain.facts.objects import ObjectFacts, OpeningFacts
from longlook.explain.facts.sender import UNNUMBERED, DoubtError, LoggedMoments, SenderFacts

__all__ = [
    "ACKNOWLEDGEMENT_BYTES",
    "DELIVERED",
    "DROPPED",
    "NEVER",
    "QUEUED",
    "UNNUMBERED",
    "Booleans",
    "DoubtError",
    "Integers",
    "LinkFacts",
    "LoggedMoments",
    "ObjectFacts",
    "OpeningFacts",
    "SenderFacts",
    "Steps",
]
