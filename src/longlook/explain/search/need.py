"""When it is searched beyond what detectors suspected. Pure."""

from collections.abc import Sequence

from longlook.explain.answer import Explained, Together

SUBSTANTIAL_PCT = 20.0
"""A gap of which confirmed causes leave less is explained well enough."""


def unexplained_pct(findings: Sequence[Explained], together: Together | None) -> float:
    """Return how much of a gap its confirmed causes leave, in %: all at once, else the one that closes most.

    It is 100 where none is confirmed, and 0 where the gap turns round.
    """
    if together is not None and together.share is not None:
        return max(0.0, 100 - together.share.share_pct)
    bests = [item.best for item in findings if item.is_confirmed]
    shares = [best.share.share_pct for best in bests if best is not None and best.share is not None]
    return max(0.0, 100 - max(shares, default=0.0))


def is_needed(findings: Sequence[Explained], together: Together | None) -> bool:
    """Return whether confirmed causes leave a substantial part of the gap."""
    return unexplained_pct(findings, together) >= SUBSTANTIAL_PCT
