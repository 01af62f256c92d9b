"""The conclusions of an analysis: estimates of contrasts, and claims judged by them. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from longlook.core.dependence import Dependence
from longlook.core.model import Claim, Verdict


@dataclass(frozen=True)
class Effect:
    """An effect with its interval and its unit: above 0 the contender is better.

    `margin` is the margin of equivalence in the same unit; 0 if none was fixed, None if it is not known here. A bound
    is None if there is none.
    """

    value: float
    low: float | None
    high: float | None
    unit: str
    margin: float | None = None


@dataclass(frozen=True)
class Estimate:
    """One contrast in one cell. `effect` above 0 means the contender is better; None if it cannot be computed.

    Metrics that are compared by ratios have `effect_pct` and its interval, in %; all others have a `difference`, in
    the unit that it names, and none of these. A ratio metric has a difference in a cell with a value that is not
    positive.

    If lower is better for the metric, effect_pct = 100·(1 − exp(mean ln(contender/baseline))), the share by which the
    contender's value is smaller. If higher is better, effect_pct = 100·(exp(mean ln(contender/baseline)) − 1).

    The counts of failures are about the `n_judged` rounds in which both arms were tried and each ok, failed or timed
    out in its last attempt, whatever was measured.

    If losses are integrated, `baseline_mean` and `contender_mean` are means over all loads, of the rounds that both
    arms have: geometric if all of their values are positive. Else they are None.
    """

    contrast: str
    metric: str
    unit: str
    cell: Mapping[str, str]
    cell_id: str
    baseline: str
    contender: str
    n_baseline: int
    n_contender: int
    n_pairs: int
    baseline_median: float | None
    contender_median: float | None
    effect_pct: float | None
    ci_low_pct: float | None
    ci_high_pct: float | None
    p_welch: float | None
    p_paired: float | None
    p_mannwhitney: float | None
    p_equivalence: float | None
    p_adjusted: float | None
    verdict: Verdict
    reason: str | None  # why inconclusive, or a caveat such as zero variance
    outcomes: Mapping[str, int]  # "arm:outcome" → count, every attempt
    n_judged: int = 0
    n_baseline_failed: int = 0
    n_contender_failed: int = 0
    n_both_failed: int = 0
    p_failures: float = 1.0  # one-sided: the contender fails more often
    random_losses: float | None = None  # packets a load lost at random, on average; None where the path loses none
    unseen_pct: float | None = (
        None  # by how much a round that was not seen may be larger; None: losses are not integrated
    )
    baseline_mean: float | None = field(default=None, metadata={"omitted_when_empty": True})
    contender_mean: float | None = field(default=None, metadata={"omitted_when_empty": True})
    dependences: tuple[Dependence, ...] = ()  # on each drawn setting that varied, the largest share first
    difference: Effect | None = field(default=None, metadata={"omitted_when_empty": True})

    @property
    def effect(self) -> Effect | None:
        """The effect in its own unit; None if there is none, or if it is too large for a float."""
        if self.difference is not None or self.effect_pct is None:
            return self.difference
        return Effect(self.effect_pct, self.ci_low_pct, self.ci_high_pct, "%")

    @property
    def is_integrated(self) -> bool:
        """Whether losses are integrated, so that arms' levels are means over all loads, not medians over rounds."""
        return self.unseen_pct is not None

    @property
    def levels(self) -> tuple[float | None, float | None]:
        """The levels of the baseline and of the contender; None if an arm has no value."""
        if self.is_integrated:
            return self.baseline_mean, self.contender_mean
        return self.baseline_median, self.contender_median

    @property
    def cliff(self) -> Dependence | None:
        """The drawn setting across which the effect differs by more than the margin; of several, the setting that
        explains most.
        """
        return next((item for item in self.dependences if item.is_cliff), None)


@dataclass(frozen=True)
class ArmLevel:
    """The level of one arm in one cell: median over rounds, with an interval for it (docs/explanation/method.md); None:
    unknown."""

    arm: str
    cell: Mapping[str, str]
    cell_id: str
    metric: str
    unit: str
    n: int  # rounds with a value
    median: float | None
    low: float | None
    high: float | None
    below: float | None = field(default=None, metadata={"omitted_when_empty": True})
    """The share of the study's population in which the metric is below this; then `cell` has the other factors."""


class Agreement(StrEnum):
    """The result of a published claim beside our value (docs/explanation/method.md)."""

    SAME_SIZE = "same size"  # of a number: its direction, and its size
    OTHER_SIZE = "other size"  # the direction, and another size, or one below the margin where there is no number
    SAME_DIRECTION = "same direction"  # of a direction without a number, or with one beyond the source's scale
    NO_DIFFERENCE = "no difference"  # of "no difference": none that matters here either
    WITHIN_BOUNDS = "within bounds"  # of a level: ours lies within bounds that the study chose
    CONTRADICTED = "contradicted"
    OPEN = "open"  # our data allow both
    NOT_TESTABLE = "not testable"
    NOT_RUN = "not run"  # the run left the claim's cell out, so that it says nothing about the claim


@dataclass(frozen=True)
class ClaimResult:
    """A published claim with our estimate, or with our level of the arm that it is about.

    `factor` is the factor, at least 1, by which the published ratio of the arms and ours differ; None if either is no
    ratio, or the claim has no number.
    """

    claim: Claim
    estimate: Estimate | None
    result: Agreement
    reason: str
    level: ArmLevel | None = None
    factor: float | None = None
