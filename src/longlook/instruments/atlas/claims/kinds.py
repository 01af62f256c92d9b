"""What it takes for a claim to be reproduced: a value that agrees, a direction alone, or no difference."""

from enum import StrEnum

from longlook.analysis.claims.judge import is_clipped, size_agrees
from longlook.core.model import Verdict
from longlook.core.results import ClaimResult


class ReplicationKind(StrEnum):
    """How much of a published statement was found again."""

    INSIDE = "an effect with a number: the number lies in our interval, reading error granted"
    OUTSIDE = "an effect with a number: the direction agrees, and the number lies outside of our interval"
    CLIPPED = "an effect beyond the source's scale: the direction agrees"
    DIRECTION = "an effect without a number: the direction agrees"
    EQUIVALENT = '"no significant difference": ours is equivalent'
    OPEN = '"no significant difference": ours is inconclusive, and its interval holds 0'
    LEVEL = "a level: ours lies within bounds that the study chose"


def kind_of(found: ClaimResult) -> ReplicationKind:
    """Return the kind of a claim that is reproduced."""
    claim, estimate = found.claim, found.estimate
    if claim.expected is not None:
        return ReplicationKind.LEVEL
    if estimate is None:
        raise ValueError(f"claim {claim.id!r} is reproduced without an estimate")
    if not claim.significant:
        return ReplicationKind.EQUIVALENT if estimate.verdict is Verdict.EQUIVALENT else ReplicationKind.OPEN
    if claim.effect_pct is None:
        return ReplicationKind.DIRECTION
    if is_clipped(claim):
        return ReplicationKind.CLIPPED
    return ReplicationKind.INSIDE if size_agrees(claim, estimate) else ReplicationKind.OUTSIDE
