"""Published claims beside our values: found again with its size, in its direction alone, contradicted or open
(docs/explanation/method.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from longlook.analysis.claims.sizes import OurEffect, SizeComparison, compare_sizes, is_clipped, our_effect
from longlook.core import (
    Agreement,
    ArmLevel,
    Claim,
    ClaimKind,
    ClaimResult,
    Estimate,
    ExpectedLevel,
    Study,
    Verdict,
    find_metric,
)

NO_DIFFERENCE_PCT = 10.0
"""An interval between ± this excludes any difference that a source means, even if it is wider than the margin."""

_CELL_NOT_RUN = "this cell was not run"


def judge(
    claims: Sequence[Claim], estimates: Sequence[Estimate], study: Study, levels: Sequence[ArmLevel] = ()
) -> list[ClaimResult]:
    """Return one result per claim, in their order.

    `estimates` are about the contrasts of the study, each on its own metric. `levels` has the levels of the arms and
    metrics that claims about levels name.
    """
    return [_judge_any(claim, estimates, study, levels) for claim in claims]


def _judge_any(claim: Claim, estimates: Sequence[Estimate], study: Study, levels: Sequence[ArmLevel]) -> ClaimResult:
    if claim.untestable is not None:
        return ClaimResult(claim, None, Agreement.NOT_TESTABLE, claim.untestable)
    if claim.expected is not None:
        return _judge_level(claim, claim.expected, study, levels)
    return _judge_effect(claim, estimates, study)


def _judge_level(claim: Claim, expected: ExpectedLevel, study: Study, levels: Sequence[ArmLevel]) -> ClaimResult:
    """Return the result for a level: our interval of the median is within the bounds, outside, or across one."""
    about = (expected.arm, expected.metric, expected.below)
    found = [level for level in levels if (level.arm, level.metric, level.below) == about]
    found = [level for level in found if all(level.cell.get(name) == label for name, label in claim.cell.items())]
    if len(found) != 1:
        if not found:
            return ClaimResult(claim, None, Agreement.NOT_RUN, _CELL_NOT_RUN)
        return ClaimResult(claim, None, Agreement.NOT_TESTABLE, _fits_several(len(found)))
    (level,) = found
    if level.median is None:
        reason = f"no trial of {expected.arm} has {expected.metric}: no kept artefact holds it"
        return ClaimResult(claim, None, Agreement.NOT_TESTABLE, reason, level)
    if level.n < study.analysis.min_rounds:
        reason = f"{level.n} rounds, at least {study.analysis.min_rounds} are needed (median {level.median:.4g})"
        return ClaimResult(claim, None, Agreement.NOT_TESTABLE, reason, level)
    low = level.median if level.low is None else level.low
    high = level.median if level.high is None else level.high
    inside = lies_within(low, high, expected.at_least, expected.at_most)
    result = Agreement.OPEN if inside is None else Agreement.WITHIN_BOUNDS if inside else Agreement.CONTRADICTED
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


def _fits_several(count: int) -> str:
    return f"the claim's cell names {count} cells of this study"


def _judge_effect(claim: Claim, estimates: Sequence[Estimate], study: Study) -> ClaimResult:
    matching = [item for item in estimates if item.contrast == claim.contrast and _covers(claim, item)]
    if not matching:
        return ClaimResult(claim, None, Agreement.NOT_RUN, _CELL_NOT_RUN)
    if len(matching) > 1:
        return ClaimResult(claim, None, Agreement.NOT_TESTABLE, _fits_several(len(matching)))
    (estimate,) = matching
    ours = our_effect(estimate, study.analysis)
    if ours is None or estimate.n_pairs < max(2, study.analysis.min_rounds):
        return ClaimResult(claim, estimate, Agreement.NOT_TESTABLE, estimate.reason or "no effect could be computed")
    compared = _Compared(claim, estimate, ours, study.analysis.alpha)
    if claim.kind is ClaimKind.NO_DIFFERENCE:
        return _judge_no_difference(compared)
    published = _side(claim.effect_pct) or claim.direction
    if published is None:
        reason = "the source states a difference but not its direction"
        return ClaimResult(claim, estimate, Agreement.NOT_TESTABLE, reason)
    return _judge_difference(compared, published)


def _covers(claim: Claim, estimate: Estimate) -> bool:
    return all(estimate.cell.get(factor) == level for factor, level in claim.cell.items())


def _side(effect: float | None) -> Verdict | None:
    """Return which verdict an effect has the sign of; None without one."""
    if not effect:
        return None
    return Verdict.BETTER if effect > 0 else Verdict.WORSE


@dataclass(frozen=True)
class _Compared:
    """A claim about an effect beside ours."""

    claim: Claim
    estimate: Estimate
    ours: OurEffect
    alpha: float

    @property
    def verdict(self) -> Verdict:
        """Our verdict."""
        return self.estimate.verdict

    @property
    def margin(self) -> str:
        """The margin of equivalence with its unit."""
        return self.ours.text(self.ours.margin)

    @property
    def size(self) -> SizeComparison | None:
        """The comparison of the sizes; None if there is none."""
        return compare_sizes(self.claim, self.ours, find_metric(self.estimate.metric).better)

    @property
    def is_near_zero(self) -> bool:
        """Whether our whole interval lies between ± NO_DIFFERENCE_PCT."""
        return self.ours.in_pct and self.ours.lies_within(NO_DIFFERENCE_PCT)

    @property
    def is_small(self) -> bool:
        """Whether our effect is below the margin."""
        return self.verdict is Verdict.EQUIVALENT or abs(self.ours.value) <= self.ours.margin

    @property
    def side(self) -> Verdict | None:
        """The direction of our effect if that is certain, which it may be although the size is below the margin."""
        if self.verdict in (Verdict.BETTER, Verdict.WORSE):
            return self.verdict
        low, high, p = self.ours.low, self.ours.high, self.estimate.p_adjusted
        if self.verdict is not Verdict.EQUIVALENT or p is None or low is None or high is None:
            return None
        return _side(self.ours.value) if p < self.alpha and not low <= 0 <= high else None

    def surely_exceeds(self, limit: float, *, unsized: bool) -> bool:
        """Return whether the published effect is larger than a limit of ours, whatever its reading error; `unsized` if
        the source has no number that can be compared.
        """
        published = self.claim.effect_pct if self.ours.in_pct else None
        return unsized if published is None else abs(published) - self.claim.uncertainty_pct > limit

    def result(self, found: Agreement, reason: str) -> ClaimResult:
        """Return a result with the sizes in its reason, if there are two."""
        size = self.size
        return ClaimResult(self.claim, self.estimate, found, f"{reason}; {size.interval}" if size else reason)


def _judge_difference(compared: _Compared, published: Verdict) -> ClaimResult:
    """Return the result for a published direction, with or without a number.

    A number is at least as large as its reading error leaves it; a direction without one is taken for a difference
    beyond the margin. Ours contradicts it by the other direction or by too small a size.
    """
    if compared.side is published:
        return _same_direction(compared, published)
    if compared.verdict is Verdict.INCONCLUSIVE:
        too_small = compared.is_near_zero and compared.surely_exceeds(NO_DIFFERENCE_PCT, unsized=False)
        within = f", and within ±{NO_DIFFERENCE_PCT:g} %" if too_small else ""
        return compared.result(_refuted(too_small), f"published {published}, ours is undecided{within}")
    reason = f"published {published}, ours {compared.verdict}"
    if compared.is_small and not compared.surely_exceeds(compared.ours.margin, unsized=True):
        also = f"and the published difference may be below the margin of {compared.margin}"
        return compared.result(Agreement.OPEN, f"{reason}, {also}")
    return compared.result(Agreement.CONTRADICTED, reason)


def _refuted(is_refuted: bool) -> Agreement:
    return Agreement.CONTRADICTED if is_refuted else Agreement.OPEN


def _same_direction(compared: _Compared, published: Verdict) -> ClaimResult:
    """Return the result of a claim of which ours has the direction."""
    claim, estimate, size = compared.claim, compared.estimate, compared.size
    small = compared.verdict is Verdict.EQUIVALENT
    by = f" by less than the margin of {compared.margin}" if small else ""
    reason = f"published {published}, ours {published}{by}"
    if size is None:
        return ClaimResult(claim, estimate, Agreement.OTHER_SIZE if small else Agreement.SAME_DIRECTION, reason)
    if is_clipped(claim) and size.agrees:
        reason = f"{reason}; {size.interval}: the source's scale ends there, and its size is unknown"
        return ClaimResult(claim, estimate, Agreement.SAME_DIRECTION, reason)
    too_small = small and compared.surely_exceeds(compared.ours.margin, unsized=False)
    found = Agreement.SAME_SIZE if size.agrees and not too_small else Agreement.OTHER_SIZE
    return ClaimResult(claim, estimate, found, f"{reason}; {size.reason}", factor=size.factor)


def _judge_no_difference(compared: _Compared) -> ClaimResult:
    """Return the result for "no significant difference": found again only if ours excludes one that matters."""
    reason = f"published no significant difference, ours {compared.verdict}"
    if compared.verdict is Verdict.EQUIVALENT:
        return compared.result(Agreement.NO_DIFFERENCE, reason)
    if compared.verdict is Verdict.INCONCLUSIVE:
        found = Agreement.NO_DIFFERENCE if compared.is_near_zero else Agreement.OPEN
        within = "and within" if compared.is_near_zero else "and not within"
        undecided = "published no significant difference, ours undecided"
        return compared.result(found, f"{undecided}, {within} ±{NO_DIFFERENCE_PCT:g} %")
    if compared.is_small:
        return compared.result(Agreement.OPEN, f"{reason} by less than the margin of {compared.margin}")
    return compared.result(Agreement.CONTRADICTED, reason)


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
    if estimate is None or estimate.p_welch is None or estimate.effect_pct is None:
        return None
    if estimate.p_welch >= WELCH_ALPHA:
        return WelchVerdict(NO_DIFFERENCE, estimate.p_welch)
    verdict = Verdict.BETTER if estimate.effect_pct > 0 else Verdict.WORSE
    return WelchVerdict(str(verdict), estimate.p_welch)
