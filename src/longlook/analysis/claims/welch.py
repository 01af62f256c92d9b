"""The verdict that the papers' own test reaches on our values, to stand beside ours. Pure."""

from dataclasses import dataclass

from longlook.core.model import Verdict
from longlook.core.results import ClaimResult

ALPHA = 0.01
"""The level of Kakhki et al., IMC 2017; their test is neither paired nor corrected for the number of cells."""

NO_DIFFERENCE = "no difference"


@dataclass(frozen=True)
class WelchVerdict:
    """Welch's t-test (Biometrika 34, 1947), two-sided, on the values of both arms in a claim's cell."""

    verdict: str  # better | worse | no difference: of the contender
    p: float


def welch_verdict(result: ClaimResult) -> WelchVerdict | None:
    """Return the verdict of Welch's test at ALPHA about the cell of a claim, in the direction of our effect.

    None for a claim about the level of one arm, and where there is no effect or too few values for the test.
    """
    estimate = result.estimate
    if estimate is None or estimate.p_welch is None or estimate.effect_pct is None:
        return None
    if estimate.p_welch >= ALPHA:
        return WelchVerdict(NO_DIFFERENCE, estimate.p_welch)
    verdict = Verdict.BETTER if estimate.effect_pct > 0 else Verdict.WORSE
    return WelchVerdict(str(verdict), estimate.p_welch)
