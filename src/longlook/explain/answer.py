"""The answer to "why did this arm lose?": findings with their verdicts, and the sentence that says it. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from longlook.explain.attribution import Conclusion, Share


class Status(StrEnum):
    """How far an explanation came."""

    EXPLAINED = "explained"  # there is a gap, and findings were tested
    UNEXPLAINED = "unexplained"  # there is a gap, and no detector saw anything
    NO_GAP = "no gap"  # nothing to explain: the arms are equivalent
    UNDECIDED = "undecided"  # no verdict says that an arm lost
    FAILED = "failed"  # an arm has no trial that went well


@dataclass(frozen=True)
class Dose:
    """One value of a dose and what it closed of the gap, in %."""

    value: float
    change: str
    closed_pct: float


@dataclass(frozen=True)
class Judged:
    """One intervention after its trials: what it changed, in which arms, and what that closed."""

    change: str
    target: str  # loser, winner or both
    conclusion: Conclusion
    rounds: int
    share: Share | None
    closed_pct: float | None
    p_adjusted: float | None
    settings: Mapping[str, str]  # of the study file, as text
    failed: str = ""  # why it concludes nothing: its trials failed


@dataclass(frozen=True)
class Explained:
    """A finding with its verdict. `seen_in` is in how many rounds its detector saw it."""

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

    @property
    def best(self) -> Judged | None:
        """Return the cure that closes most, else the transplant; None where none ran."""
        ran = [item for item in (self.cures or self.transplants) if item.closed_pct is not None]
        return max(ran, key=lambda item: item.closed_pct or 0.0, default=None)


@dataclass(frozen=True)
class Together:
    """All confirmed cures at once, which says what remains without an explanation."""

    changes: tuple[str, ...]
    share: Share | None
    closed_pct: float | None


@dataclass(frozen=True)
class Answer:
    """Why one arm of a contrast lost in a cell. Times in ms; `ledger_ms` has the mean of each class by arm."""

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
    loser_median: float | None = None
    winner_median: float | None = None
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


def sentence(answer: Answer) -> str:
    """Return the answer in one to three sentences, which can be pasted into a report of a fault."""
    if answer.status in (Status.NO_GAP, Status.UNDECIDED, Status.FAILED):
        return answer.reason
    head = f"{answer.loser_label} {_loses(answer)}"
    confirmed = [item for item in answer.findings if _is_confirmed(item)]
    if not confirmed:
        tried = f": {_tried(answer.findings)}" if answer.findings else "; no detector saw a cause"
        return f"{head}. No cause is confirmed{tried}."
    causes = "; and ".join(f"{item.sentence} ({_proof(item)})" for item in confirmed[:3])
    rest = ""
    if answer.together is not None and answer.together.share is not None:
        remainder = 100 - answer.together.share.share_pct
        rest = f" All confirmed cures together leave {remainder:.0f} % of the gap."
    return f"{head}, because {causes}.{rest}"


def _loses(answer: Answer) -> str:
    if answer.gap_pct is None:
        return f"is worse than {answer.winner_label}"
    how = "longer" if answer.metric.endswith("time") else "worse"
    if answer.loser_median is not None and answer.winner_median is not None and answer.unit == "s":
        lost_s = answer.loser_median - answer.winner_median
        return (
            f"needs {_time(lost_s)} more than {answer.winner_label} ({_time(answer.loser_median)} instead of "
            f"{_time(answer.winner_median)}, {answer.gap_pct:+.0f} %)"
        )
    return f"is {abs(answer.gap_pct):.0f} % {how} than {answer.winner_label}"


def _proof(item: Explained) -> str:
    best = item.best
    if best is None or best.share is None:
        return str(item.conclusion)
    span = ""
    if best.share.ci_low_pct is not None and best.share.ci_high_pct is not None:
        span = f", {best.share.ci_low_pct:.0f} to {best.share.ci_high_pct:.0f} %"
    return f"{item.conclusion}: with {best.change}, {best.share.share_pct:.0f} % of the gap goes{span}"


def _tried(findings: Sequence[Explained]) -> str:
    return "; ".join(f"{item.title.lower()} {item.conclusion}" for item in findings)


def _is_confirmed(item: Explained) -> bool:
    return item.conclusion in (Conclusion.CONFIRMED, Conclusion.CONFIRMED_BOTH_WAYS)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if abs(seconds) >= 1 else f"{1000 * seconds:.0f} ms"
