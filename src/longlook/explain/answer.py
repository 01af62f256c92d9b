"""The answer to "why did this arm lose?": findings with their verdicts. Plain data; `report.causes.text` says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from longlook.explain.attribution import Conclusion, Share
from longlook.explain.cause import Touches
from longlook.explain.failing import FailedArm


class Status(StrEnum):
    """How far an explanation came."""

    EXPLAINED = "explained"  # there is a gap, and findings were tested
    UNEXPLAINED = "unexplained"  # there is a gap, and neither a detector nor the search behind them found anything
    NO_GAP = "no gap"  # nothing to explain: the arms are equivalent
    UNDECIDED = "undecided"  # no verdict says that an arm lost
    FAILED = "failed"  # an arm has no trial that went well


class FoundBy(StrEnum):
    """The search or detector that made a finding a suspect."""

    DETECTOR = "detector"
    SCREENING = "screening"
    LOSSES = "delta debugging"


@dataclass(frozen=True)
class Dose:
    """One value of a dose, and by how much it brings the arms closer, in `unit`."""

    value: float
    change: str
    closed: float
    unit: str = "%"


@dataclass(frozen=True)
class Judged:
    """One intervention after its trials: what it changed, in which arms, and what that closed."""

    change: str
    target: str  # loser, winner or both
    conclusion: Conclusion
    rounds: int
    share: Share | None
    closed: float | None  # by how much the arms get closer, in `unit`
    p_adjusted: float | None
    settings: Mapping[str, str]  # of the study file, as text
    failed: str = ""  # why it concludes nothing: its trials failed
    winners_pct: float | None = None  # of a change in both arms: the part that is the winner's getting worse
    touches: Touches = Touches.MECHANISM
    unit: str = "%"  # that of differences, if values are not compared by ratios


@dataclass(frozen=True)
class Explained:
    """A finding with its verdict. `seen_in` is in how many rounds its detector saw it; if losses are integrated, in how
    many traced loads, which stand for `seen_pct` of all loads.

    `where` completes "The gap arises …". `alike` is the end, server or client, whose doing the finding is and that both
    arms have alike, in program and settings: what differs between them is then elsewhere. `direct` is the conclusion
    from changes of the mechanism, if the finding's conclusion comes from other changes, which show where or at which
    end; None if no such change could be made.
    """

    cause: str
    title: str
    sentence: str
    source: str
    arm: str
    role: str
    conclusion: Conclusion
    strength_ms: float
    seen_in: int
    evidence: tuple[str, ...]
    cures: tuple[Judged, ...] = ()
    transplants: tuple[Judged, ...] = ()
    doses: tuple[Dose, ...] = ()
    monotone: bool = False
    untestable: tuple[str, ...] = ()
    found_by: FoundBy = FoundBy.DETECTOR
    where: str = ""
    alike: str = ""
    direct: Conclusion | None = None
    seen_pct: float | None = None
    follows: str = ""  # the title of the confirmed cause that it is a consequence of

    @property
    def is_confirmed(self) -> bool:
        """Return whether trials confirmed that this is a cause."""
        return self.conclusion in (Conclusion.CONFIRMED, Conclusion.CONFIRMED_BOTH_WAYS)

    @property
    def is_placed(self) -> bool:
        """Return whether trials show where the gap arises, or at which end, and not why."""
        return self.conclusion in (Conclusion.WHERE, Conclusion.WHICH_END)

    @property
    def best(self) -> Judged | None:
        """Return the cure that speaks for the finding, else the transplant; None if none ran.

        A confirmed one counts before others, and among confirmed ones the change that closes most. For a cause it is a
        change of its mechanism, as the share of any other change is not the cause's.
        """
        cures, transplants = self.cures, self.transplants
        if self.is_confirmed:
            cures, transplants = direct(cures), direct(transplants)
        elif self.is_placed:
            confirmed = [item for item in (*cures, *transplants) if item.conclusion is Conclusion.CONFIRMED]
            return strongest(confirmed)
        return strongest(cures) or strongest(transplants)


def direct(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """Return the interventions that touch the mechanism itself."""
    return tuple(item for item in judged if item.touches is Touches.MECHANISM)


def strongest(judged: Sequence[Judged]) -> Judged | None:
    """Return the intervention that closes most, a confirmed one before any other; None if none changed anything."""
    nothing = (Conclusion.NO_CHANGE, Conclusion.UNTOUCHED)
    ran = [item for item in judged if item.closed is not None and item.conclusion not in nothing]
    return max(ran, key=lambda item: (item.conclusion is Conclusion.CONFIRMED, item.closed or 0.0), default=None)


@dataclass(frozen=True)
class Together:
    """All that was confirmed, made at once, which says what remains without an explanation.

    Each cause takes part with its strongest cure, or with the transplant if it has no cure.
    """

    changes: tuple[str, ...]
    share: Share | None
    closed: float | None
    unit: str = "%"


def closed_share_pct(findings: Sequence[Explained], together: Together | None) -> float | None:
    """Return the share of the gap in % that all confirmed changes close; of one by one the largest, None without."""
    if together is not None and together.share is not None:
        return together.share.share_pct
    bests = [item.best for item in findings if item.is_confirmed]
    return max((best.share.share_pct for best in bests if best is not None and best.share is not None), default=None)


@dataclass(frozen=True)
class Effect:
    """One setting of a screening: what its change closes of the gap on average over the settings of all others."""

    setting: str  # its key in a study file
    change: str
    target: str  # loser, winner or both
    closed: float
    p_adjusted: float | None
    is_suspected: bool
    unit: str = "%"


@dataclass(frozen=True)
class Screening:
    """A screening of settings: `runs` combinations of them in each of `rounds`, which took `trials` in all.

    `reason` says why there are no effects; `left_out` has the settings that could not be varied, with the reason.
    """

    reason: str
    runs: int = 0
    rounds: int = 0
    trials: int = 0
    effects: tuple[Effect, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class FewestLosses:
    """The fewest packets of a round's load whose forgiveness closes as much of its gap as is asked for.

    Without `is_minimal` the trials were spent before it was known that none of them can be left out.
    """

    round: int
    dropped: int  # packets that the link dropped of the load
    fewest: int
    packets: tuple[str, ...]  # the first of these fewest in words, and how many more there are
    closed_share_pct: float  # of the round's gap
    trials: int
    is_minimal: bool


@dataclass(frozen=True)
class LossSearch:
    """The rounds whose gap hangs on losses; `reason` says why there are none."""

    reason: str
    trials: int = 0
    rounds: tuple[FewestLosses, ...] = ()


@dataclass(frozen=True)
class LossPart:
    """A stratum of losses: its probability, and its part of the gap in %, None if there is no gap."""

    stratum: str  # none, one or more
    probability: float
    share_pct: float | None


@dataclass(frozen=True)
class SingleLoss:
    """The loss of one packet alone: its exact probability, what it costs each arm in the metric's unit, and the part of
    such loads in the gap, in %. A value is None if it was not measured.
    """

    packet: str  # in words
    probability: float
    loser_cost: float | None
    winner_cost: float | None
    share_pct: float | None


@dataclass(frozen=True)
class IntegratedLosses:
    """The losses of a gap, if they are integrated: its strata, and the dearest single losses that are of one packet.

    `loads` is the number of loads of each arm that detectors saw.
    """

    loads: int
    parts: tuple[LossPart, ...]
    singles: tuple[SingleLoss, ...]


@dataclass(frozen=True)
class Answer:
    """Why one arm of a contrast lost in a cell. Times in ms; `ledger_ms` has the mean of each class by arm.

    The levels of both arms, `loser_level` and `winner_level`, are medians over rounds, or means over all loads if
    losses are integrated. `why_sampled` says why they are not, if the path loses packets at random.
    """

    study: str
    cell: Mapping[str, str]
    cell_id: str
    contrast: str
    metric: str
    status: Status
    reason: str
    command: str
    loser: str = ""
    winner: str = ""
    loser_label: str = ""
    winner_label: str = ""
    loser_level: float | None = None
    winner_level: float | None = None
    unit: str = ""
    gap_pct: float | None = None  # by how much the loser's value is larger, or smaller where higher is better
    gap_low_pct: float | None = None
    gap_high_pct: float | None = None
    rounds: int = 0
    trials: int = 0  # counterfactual trials that this answer took
    findings: tuple[Explained, ...] = ()
    together: Together | None = None
    ledger_ms: Mapping[str, Mapping[str, float]] | None = None  # arm → class → mean ms
    checked: tuple[str, ...] = ()  # what could have confounded the arms, and is equal
    left_out: tuple[str, ...] = ()  # findings that the budget left untested
    broken: Mapping[str, str] = field(default_factory=dict)  # causes that could not be asked, and why
    screening: Screening | None = None  # None: what detectors suspected explains the gap
    losses: LossSearch | None = None  # None: that, or what the screening found explains the gap, or `integrated`
    implausible: tuple[str, ...] = ()  # what traces contradict of themselves and is not counted, by arm
    failing: tuple[FailedArm, ...] = ()  # of arms whose trials failed, what these share
    integrated: IntegratedLosses | None = None
    why_sampled: str = ""

    def target_label(self, target: str) -> str:
        """Return the arms that a change was made in, by their labels; `target` is loser, winner or both."""
        return {"loser": self.loser_label, "winner": self.winner_label, "both": "both arms"}[target]


SUBSTANTIAL_PCT = 20.0
"""A gap of which confirmed causes leave less is explained well enough."""


def unexplained_pct(findings: Sequence[Explained], together: Together | None) -> float:
    """Return how much of a gap its confirmed causes leave, in %: all at once, else the strongest cause alone.

    It is 100 if none is confirmed, and 0 if the gap turns round.
    """
    return max(0.0, 100 - (closed_share_pct(findings, together) or 0.0))


def is_needed(findings: Sequence[Explained], together: Together | None) -> bool:
    """Return whether confirmed causes leave a substantial part of the gap."""
    return unexplained_pct(findings, together) >= SUBSTANTIAL_PCT
