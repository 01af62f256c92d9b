"""When it is searched beyond what detectors suspected. Pure."""

from collections.abc import Sequence

from longlook.explain.answer import Explained, Together, closed_share_pct

SUBSTANTIAL_PCT = 20.0
"""A gap of which confirmed causes leave less is explained well enough."""


def unexplained_pct(findings: Sequence[Explained], together: Together | None) -> float:
    """Return how much of a gap its confirmed causes leave, in %: all at once, else the one that closes most.

    It is 100 where none is confirmed, and 0 where the gap turns round.
    """
    return max(0.0, 100 - (closed_share_pct(findings, together) or 0.0))


def is_needed(findings: Sequence[Explained], together: Together | None) -> bool:
    """Return whether confirmed causes leave a substantial part of the gap."""
    return unexplained_pct(findings, together) >= SUBSTANTIAL_PCT
