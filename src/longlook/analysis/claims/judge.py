"""Published claims beside our estimates: reproduced, contradicted, inconclusive, not testable or not run
(docs/explanation/method.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from longlook.analysis.stats.stopping import margin_in_unit
from longlook.core import ArmLevel, Claim, ClaimResult, Estimate, ExpectedLevel, Study, Verdict

REPRODUCED = "reproduced"
CONTRADICTED = "contradicted"
INCONCLUSIVE = "inconclusive"
NOT_TESTABLE = "not testable"
NOT_RUN = "not run"
"""The run left the claim's cell out, so that it says nothing about the claim."""

_CELL_NOT_RUN = "this cell was not run"


def judge(
    claims: Sequence[Claim], estimates: Sequence[Estimate], study: Study, levels: Sequence[ArmLevel] = ()
) -> list[ClaimResult]:
    """Return one result per claim, in their order.

    A claim about an effect is judged by its direction; the reason adds whether the size agrees. `levels` has the levels
    of the arms and metrics that claims about levels name.
    """
    return [_judge_any(claim, estimates, study, levels) for claim in claims]


def _judge_any(claim: Claim, estimates: Sequence[Estimate], study: Study, levels: Sequence[ArmLevel]) -> ClaimResult:
    if claim.untestable is not None:
        return ClaimResult(claim, None, NOT_TESTABLE, claim.untestable)
    if claim.expected is not None:
        return _judge_level(claim, claim.expected, study, levels)
    return _judge(claim, estimates, study)


def _judge_level(claim: Claim, expected: ExpectedLevel, study: Study, levels: Sequence[ArmLevel]) -> ClaimResult:
    """Return the result for a level: our interval of the median is within the bounds, outside, or across one."""
    about = (expected.arm, expected.metric, expected.below)
    found = [level for level in levels if (level.arm, level.metric, level.below) == about]
    found = [level for level in found if all(level.cell.get(name) == label for name, label in claim.cell.items())]
    if len(found) != 1:
        if not found:
            return ClaimResult(claim, None, NOT_RUN, _CELL_NOT_RUN)
        return ClaimResult(claim, None, NOT_TESTABLE, f"the claim's cell names {len(found)} cells of this study")
    (level,) = found
    if level.median is None:
        reason = f"no trial of {expected.arm} has {expected.metric}: no kept artefact holds it"
        return ClaimResult(claim, None, NOT_TESTABLE, reason, level)
    if level.n < study.analysis.min_rounds:
        reason = f"{level.n} rounds, at least {study.analysis.min_rounds} are needed (median {level.median:.4g})"
        return ClaimResult(claim, None, NOT_TESTABLE, reason, level)
    low = level.median if level.low is None else level.low
    high = level.median if level.high is None else level.high
    inside = lies_within(low, high, expected.at_least, expected.at_most)
    result = INCONCLUSIVE if inside is None else REPRODUCED if inside else CONTRADICTED
    ours = f"ours {level.median:.4g} ({low:.4g} … {high:.4g}) {level.unit}".rstrip()
    return ClaimResult(claim, None, result, f"{_expected(claim.origin, expected)}, {ours}", level)


def lies_within(low: float, high: float, at_least: float | None, at_most: float | None) -> bool | None:
    """Return True if an interval lies within bounds, False if it lies outside, None if a bound is inside it."""
    least = float("-inf") if at_least is None else at_least
    most = float("inf") if at_most is None else at_most
    if low >= least and high <= most:
        return True
    return False if high < least or low > most else None


def _expected(origin: str, expected: ExpectedLevel) -> str:
    """Return a level's number with its origin, and the bounds, which are the study's own."""
    bounds = [
        f"{sign} {bound:g}" for sign, bound in (("≥", expected.at_least), ("≤", expected.at_most)) if bound is not None
    ]
    bounds_text = " and ".join(bounds)
    taken = f"taken as {bounds_text}"
    return taken if expected.published is None else f"{origin} {expected.published:g}, {taken}"


def _judge(claim: Claim, estimates: Sequence[Estimate], study: Study) -> ClaimResult:
    matching = [item for item in estimates if item.contrast == claim.contrast and _covers(claim, item)]
    if not matching:
        return ClaimResult(claim, None, NOT_RUN, _CELL_NOT_RUN)
    if len(matching) > 1:
        return ClaimResult(claim, None, NOT_TESTABLE, f"the claim's cell names {len(matching)} cells of this study")
    (estimate,) = matching
    if estimate.effect is None or estimate.n_pairs < max(2, study.analysis.min_rounds):
        return ClaimResult(claim, estimate, NOT_TESTABLE, estimate.reason or "no effect could be computed")
    if claim.significant and not claim.effect_pct and claim.direction is None:
        return ClaimResult(claim, estimate, NOT_TESTABLE, "the source states a difference but not its direction")
    judge_kind = _judge_difference if claim.significant else _judge_no_difference
    result, reason = judge_kind(claim, estimate, study)
    size = _size(claim, estimate)
    return ClaimResult(claim, estimate, result, f"{reason}; {size}" if size else reason)


def _covers(claim: Claim, estimate: Estimate) -> bool:
    return all(estimate.cell.get(factor) == level for factor, level in claim.cell.items())


def _judge_difference(claim: Claim, estimate: Estimate, _study: Study) -> tuple[str, str]:
    published = claim.direction or (Verdict.BETTER if (claim.effect_pct or 0) > 0 else Verdict.WORSE)
    if estimate.verdict is Verdict.INCONCLUSIVE:
        return INCONCLUSIVE, f"published {published}, ours is undecided"
    result = REPRODUCED if estimate.verdict is published else CONTRADICTED
    return result, f"published {published}, ours {estimate.verdict}"


def _judge_no_difference(_claim: Claim, estimate: Estimate, study: Study) -> tuple[str, str]:
    found = estimate.effect
    effect, low, high = (None, None, None) if found is None else (found.value, found.low, found.high)
    published = "published no significant difference"
    if estimate.verdict is Verdict.EQUIVALENT:
        return REPRODUCED, f"{published}, ours equivalent"
    if estimate.verdict is Verdict.INCONCLUSIVE:
        if low is not None and high is not None and low <= 0 <= high:
            return REPRODUCED, f"{published}, ours neither, and our interval contains 0"
        return INCONCLUSIVE, f"{published}, ours not significant, but our interval does not contain 0"
    margin = margin_in_unit(estimate, study.analysis)
    if effect is not None and abs(effect) > margin:
        return CONTRADICTED, f"{published}, ours {estimate.verdict}"
    unit = "" if found is None else found.unit
    return INCONCLUSIVE, f"{published}, ours {estimate.verdict} by less than the margin of {margin:g} {unit}"


def is_clipped(claim: Claim) -> bool:
    """Return whether the published effect is at the end of the source's scale, and so a bound."""
    clip, published = claim.clipped_at_pct, claim.effect_pct
    return clip is not None and published is not None and abs(published) >= clip


def size_agrees(claim: Claim, estimate: Estimate) -> bool | None:
    """Return whether the published value lies in our interval widened by its reading error, or whether that reaches
    beyond a clipped one; None without a value or an interval.
    """
    low, high, published = estimate.ci_low_pct, estimate.ci_high_pct, claim.effect_pct
    if published is None or low is None or high is None:
        return None
    low, high = low - claim.uncertainty_pct, high + claim.uncertainty_pct
    if is_clipped(claim):
        clip = claim.clipped_at_pct or 0.0
        return high >= clip if published > 0 else low <= -clip
    return low <= published <= high


def _size(claim: Claim, estimate: Estimate) -> str | None:
    """Return the same as text."""
    agrees, published = size_agrees(claim, estimate), claim.effect_pct
    low, high = estimate.ci_low_pct, estimate.ci_high_pct
    if agrees is None or published is None or low is None or high is None:
        return None
    low, high = low - claim.uncertainty_pct, high + claim.uncertainty_pct
    ours = f"our interval {low:+.1f} … {high:+.1f} % (reading error included)"
    if is_clipped(claim):
        sign = "≥ +" if published > 0 else "≤ −"
        return f"{claim.origin} {sign}{claim.clipped_at_pct:g} % {'agrees with' if agrees else 'is beyond'} {ours}"
    return f"{claim.origin} {published:+g} % is {'inside' if agrees else 'outside'} {ours}"


WELCH_ALPHA = 0.01
"""The level of Kakhki et al., IMC 2017; their test is neither paired nor corrected for the number of cells."""

NO_DIFFERENCE = "no difference"


@dataclass(frozen=True)
class WelchVerdict:
    """Welch's t-test (Biometrika 34, 1947), two-sided, on the values of both arms in a claim's cell."""

    verdict: str  # better | worse | no difference: of the contender
    p: float


def welch_verdict(result: ClaimResult) -> WelchVerdict | None:
    """Return the verdict of Welch's test at WELCH_ALPHA about the cell of a claim, in the direction of our effect.

    None for a claim about the level of one arm, without an effect, or with too few values for the test.
    """
    estimate = result.estimate
    effect = None if estimate is None else estimate.effect
    if estimate is None or estimate.p_welch is None or effect is None:
        return None
    if estimate.p_welch >= WELCH_ALPHA:
        return WelchVerdict(NO_DIFFERENCE, estimate.p_welch)
    verdict = Verdict.BETTER if effect.value > 0 else Verdict.WORSE
    return WelchVerdict(str(verdict), estimate.p_welch)
