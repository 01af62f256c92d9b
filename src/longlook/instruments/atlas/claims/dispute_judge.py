"""Decide which position of a dispute holds at which level, and what follows. Pure: values in, answers out
(docs/guide/claims.md).

A bound is judged by the study's own verdict, which is corrected over the study's cells, and by intervals that hold at
once at all levels; a trend by such intervals. A control decides nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from longlook.analysis import lies_within
from longlook.core import Verdict
from longlook.instruments.atlas.claims.dispute import (
    CONSTANT,
    FALLS,
    PREDICTED,
    DisputeEvidence,
    Holds,
    Position,
    judged_by,
)

EVERYWHERE = "everywhere"
"""Said of a conclusion if every level of every piece of evidence that is no control decides."""


class Held(StrEnum):
    """The relation between a value at a level and a position."""

    WITHIN = "holds"
    OUTSIDE = "does not hold"
    ACROSS = "undecided"  # the interval allows both, or the study's verdict is inconclusive
    NOT_APPLICABLE = "not applicable"  # a trend at its first level, where nothing changed, or over another factor
    UNKNOWN = "no value"


class ConclusionKind(StrEnum):
    """The kinds of conclusions about a dispute."""

    FLIPS = "flips"
    HOLDS = "one holds"
    NONE = "none holds"
    DIFFERS = "evidence differs"
    OPEN = "open"
    AS_PREDICTED = "as predicted"  # a control is as all positions predict
    UNPREDICTED = "not as predicted"  # a control is not
    UNDECIDABLE = "undecidable"  # here; the dispute's file says why, and what could decide it
    SETTLED = "settled"  # by what the sources print


@dataclass(frozen=True)
class Judgement:
    """The study's verdict about an effect, its p corrected over the study's cells, and the equivalence margin in %."""

    verdict: Verdict
    p_adjusted: float | None
    margin: float


@dataclass(frozen=True)
class Point:
    """Our value at one level with its interval, one of several that hold at once; without a value, `missing` gives the
    reason. An arm's level has no `judgement`. An effect in another unit than the positions has a `judgement` alone.
    """

    level: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    missing: str | None = None
    judgement: Judgement | None = None

    @property
    def span(self) -> tuple[float, float] | None:
        """The interval, or None if there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def established(self) -> tuple[float, float] | None:
        """The values that the study's verdict and the interval leave; None if the verdict is inconclusive."""
        if self.span is None or self.judgement is None:
            return self.span
        low, high = self.span
        margin = self.judgement.margin
        match self.judgement.verdict:
            case Verdict.BETTER:
                return max(low, 0.0), max(high, 0.0)
            case Verdict.WORSE:
                return min(low, 0.0), min(high, 0.0)
            case Verdict.EQUIVALENT:
                return max(low, -margin), min(high, margin)
        return None


@dataclass(frozen=True)
class DisputeConclusion:
    """The conclusion over all levels, in words. `positions` hold at every level that decides: `decided` of `judged`.

    The conclusion of several pieces of evidence counts pieces, without controls.
    """

    kind: ConclusionKind
    text: str
    positions: tuple[str, ...] = ()
    decided: int = 0
    judged: int = 0


@dataclass(frozen=True)
class JudgedEvidence:
    """Our values, their relation to each position (in the order of the points), and the conclusion.

    A control is compared with its prediction (`PREDICTED`) in place of the positions.
    """

    evidence: DisputeEvidence
    points: tuple[Point, ...]
    held: Mapping[str, tuple[Held, ...]]
    conclusion: DisputeConclusion

    def answer(self, number: int) -> frozenset[str] | None:
        """Return the positions that hold at a level, or None if that is undecided; a control never decides."""
        if self.evidence.control is not None:
            return None
        return _answer([(name, held[number]) for name, held in self.held.items()])


def judge_evidence(evidence: DisputeEvidence, positions: Sequence[Position], points: Sequence[Point]) -> JudgedEvidence:
    """Return a piece of evidence with every position judged at every level, and its conclusion."""
    held = {name: judge(holds, points, evidence.factor) for name, holds in judged_by(evidence, positions).items()}
    conclusion = (
        conclude(evidence.factor, points, held) if evidence.control is None else _conclude_control(held[PREDICTED])
    )
    return JudgedEvidence(evidence, tuple(points), held, conclusion)


def judge(holds: Holds, points: Sequence[Point], factor: str = "") -> tuple[Held, ...]:
    """Return the relation of each value along a factor to a position.

    Bounds are compared with the values that the study's verdict and the interval leave, a verdict with the study's
    verdict. `rises` and `falls` are
    compared with the last earlier level from which the value certainly differs by more than the tolerance. `constant`
    is compared with all other levels. A trend with bounds at its end holds nowhere if the value at the last level lies
    outside of them.
    """
    if holds.verdict is not None:
        return tuple(_is_found(point, holds.verdict) for point in points)
    if holds.trend is None:
        return tuple(_bounded(point, holds.at_least, holds.at_most) for point in points)
    if holds.over not in (None, factor):
        return tuple(Held.UNKNOWN if point.span is None else Held.NOT_APPLICABLE for point in points)
    if holds.trend == CONSTANT:
        found = tuple(_constant(point, points, holds.tolerance) for point in points)
    else:
        found = _rises(points, holds.tolerance, -1 if holds.trend == FALLS else 1)
    if (holds.ends_at_least is None and holds.ends_at_most is None) or not points:
        return found
    end = _bounded(points[-1], holds.ends_at_least, holds.ends_at_most)
    if end is Held.WITHIN:
        return found
    instead = Held.OUTSIDE if end is Held.OUTSIDE else Held.ACROSS
    return tuple(instead if kind is Held.WITHIN else kind for kind in found)


def _is_found(point: Point, verdict: Verdict) -> Held:
    if point.judgement is None:
        return Held.UNKNOWN
    if point.judgement.verdict is Verdict.INCONCLUSIVE:
        return Held.ACROSS
    return Held.WITHIN if point.judgement.verdict is verdict else Held.OUTSIDE


def _bounded(point: Point, at_least: float | None, at_most: float | None) -> Held:
    if point.span is None:
        return Held.UNKNOWN
    if point.established is None:
        return Held.ACROSS
    inside = lies_within(*point.established, at_least, at_most)
    return Held.ACROSS if inside is None else Held.WITHIN if inside else Held.OUTSIDE


def _constant(point: Point, points: Sequence[Point], tolerance: float) -> Held:
    if point.span is None:
        return Held.UNKNOWN
    steps = [_step(other.span, point.span) for other in points if other is not point and other.span is not None]
    if not steps:
        return Held.NOT_APPLICABLE
    if any(least > tolerance or most < -tolerance for least, most in steps):
        return Held.OUTSIDE
    same = all(least >= -tolerance and most <= tolerance for least, most in steps)
    return Held.WITHIN if same else Held.ACROSS


def _rises(points: Sequence[Point], tolerance: float, sign: int) -> tuple[Held, ...]:
    found: list[Held] = []
    earlier: list[tuple[float, float]] = []
    for point in points:
        if point.span is None:
            found.append(Held.UNKNOWN)
            continue
        steps = [_step(before, point.span) for before in reversed(earlier)]
        sure = next((step for step in steps if step[0] > tolerance or step[1] < -tolerance), None)
        if sure is not None:
            found.append(Held.WITHIN if (sure[0] > tolerance) == (sign > 0) else Held.OUTSIDE)
        else:
            same = all(least >= -tolerance and most <= tolerance for least, most in steps)
            found.append(Held.NOT_APPLICABLE if same else Held.ACROSS)
        earlier.append(point.span)
    return tuple(found)


def _step(before: tuple[float, float], after: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest and the largest difference that two intervals allow."""
    return after[0] - before[1], after[1] - before[0]


def _answer(held: Sequence[tuple[str, Held]]) -> frozenset[str] | None:
    kinds = {kind for _, kind in held}
    within = frozenset(name for name, kind in held if kind is Held.WITHIN)
    if kinds & {Held.ACROSS, Held.UNKNOWN} or (not within and Held.NOT_APPLICABLE in kinds):
        return None
    return within


def _is_judged(held: Sequence[tuple[str, Held]]) -> bool:
    """Return whether a level can decide at all: no position is silent there, or a position that speaks holds or may
    hold.
    """
    return any(kind in (Held.WITHIN, Held.ACROSS, Held.UNKNOWN) for _, kind in held) or all(
        kind is Held.OUTSIDE for _, kind in held
    )


def conclude(factor: str, points: Sequence[Point], held: Mapping[str, Sequence[Held]]) -> DisputeConclusion:
    """Return the conclusion over all levels; open levels are passed over, and counted."""
    columns = [[(name, kinds[number]) for name, kinds in held.items()] for number in range(len(points))]
    judged = sum(_is_judged(column) for column in columns)
    answers = [
        (point.level, answer)
        for point, column in zip(points, columns, strict=True)
        if (answer := _answer(column)) is not None
    ]
    decided = len(answers), judged
    if not answers:
        missing = list(dict.fromkeys(point.missing for point in points if point.missing))
        why = missing[0] if len(missing) == 1 and not any(point.span for point in points) else "no level decides"
        return DisputeConclusion(ConclusionKind.OPEN, f"open: {why}", (), *decided)
    common = frozenset.intersection(*(answer for _, answer in answers))
    part = "" if len(answers) == judged else f" at {_of(*decided, 'level')}, open at {judged - len(answers)}"
    if common:
        names = _in_order(held, common)
        text = f"{_named(names)} {_verb(names)}{part or f' {EVERYWHERE}'}"
        return DisputeConclusion(ConclusionKind.HOLDS, text, names, *decided)
    if not any(answer for _, answer in answers):
        return DisputeConclusion(ConclusionKind.NONE, f"none holds{part}", (), *decided)
    flips = [(before, after, old, new) for (before, old), (after, new) in pairwise(answers) if old != new]
    where = " and ".join(f"between {before} and {after}" for before, after, *_ in flips)
    sides = [flips[0][2], *(new for *_, new in flips)]
    in_turn = ", then ".join(_side(_in_order(held, side)) for side in sides)
    return DisputeConclusion(ConclusionKind.FLIPS, f"{factor} flips the answer {where}: {in_turn}", (), *decided)


def _conclude_control(held: Sequence[Held]) -> DisputeConclusion:
    """Return whether a control is as all positions predict."""
    within, outside = held.count(Held.WITHIN), held.count(Held.OUTSIDE)
    judged = len(held) - held.count(Held.NOT_APPLICABLE)
    counts = within + outside, judged
    if outside:
        kind, found = ConclusionKind.UNPREDICTED, f"at {_of(outside, judged, 'level')} not as all positions predict"
    elif within and within == judged:
        kind, found = ConclusionKind.AS_PREDICTED, "as all positions predict"
    else:
        kind, found = ConclusionKind.OPEN, f"open at {_of(judged - within, judged, 'level')}"
    return DisputeConclusion(kind, f"control, decides nothing: {found}", (), *counts)


def conclude_all(judged: Sequence[JudgedEvidence]) -> DisputeConclusion:
    """Return the conclusion over several pieces of evidence, of which controls decide nothing.

    If two of them differ in one setting alone and disagree, that setting flips the answer.
    """
    deciding = [item for item in judged if item.evidence.control is None]
    decided = [item for item in deciding if item.conclusion.kind is not ConclusionKind.OPEN]
    counts = len(decided), len(deciding)
    if len(deciding) == 1:
        found = deciding[0].conclusion
    elif not decided:
        found = DisputeConclusion(
            ConclusionKind.OPEN, f"open: none of {len(deciding)} pieces of evidence decides", (), *counts
        )
    elif (agreed := _agreed(decided, len(deciding))) is not None:
        found = replace(agreed, decided=counts[0], judged=counts[1])
    else:
        differing = _disagreed(decided)
        found = DisputeConclusion(differing.kind, f"{differing.text}{how_many_decide(*counts)}", (), *counts)
    return replace(found, text=f"{found.text}{controls_text(judged)}")


def how_many_decide(decided: int, judged: int) -> str:
    """Return how many pieces of evidence decide, for the end of a sentence; empty if all do."""
    if decided == judged:
        return ""
    return f" ({decided} of {judged} pieces of evidence decide, open in {judged - decided})"


def controls_text(judged: Sequence[JudgedEvidence]) -> str:
    """Return that controls decide nothing, and how they came out, for the end of a sentence; empty without any."""
    kinds = [item.conclusion.kind for item in judged if item.evidence.control is not None]
    if not kinds:
        return ""
    named = (
        (ConclusionKind.AS_PREDICTED, "as all positions predict"),
        (ConclusionKind.UNPREDICTED, "not as all positions predict"),
        (ConclusionKind.OPEN, "open"),
    )
    found = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in named if kind in kinds)
    return f"; {len(kinds)} {'control decides' if len(kinds) == 1 else 'controls decide'} nothing: {found}"


def _agreed(decided: Sequence[JudgedEvidence], pieces: int) -> DisputeConclusion | None:
    """Return the common conclusion of pieces of evidence, or None if they disagree."""
    texts = {item.conclusion.text for item in decided if item.conclusion.kind is ConclusionKind.FLIPS}
    if len(texts) == 1 and all(item.conclusion.kind is ConclusionKind.FLIPS for item in decided):
        return DisputeConclusion(ConclusionKind.FLIPS, f"{texts.pop()}, {_in_pieces(decided, pieces)}")
    if all(item.conclusion.kind in (ConclusionKind.HOLDS, ConclusionKind.NONE) for item in decided):
        common = frozenset.intersection(*(frozenset(item.conclusion.positions) for item in decided))
        if common:
            names = _in_order(decided[0].held, common)
            text = f"{_named(names)} {_verb(names)} {_in_pieces(decided, pieces)}"
            return DisputeConclusion(ConclusionKind.HOLDS, text, names)
        if not any(item.conclusion.positions for item in decided):
            part = _in_pieces(decided, pieces)
            return DisputeConclusion(ConclusionKind.NONE, "none holds" if part == EVERYWHERE else f"none holds {part}")
    return None


def _in_pieces(decided: Sequence[JudgedEvidence], pieces: int) -> str:
    """Return in how much of the evidence a conclusion holds: `everywhere` if every level of every piece decides."""
    if len(decided) < pieces:
        return f"in {len(decided)} of {pieces} pieces of evidence, open in {pieces - len(decided)}"
    levels = sum(item.conclusion.judged for item in decided)
    still_open = levels - sum(item.conclusion.decided for item in decided)
    return (
        f"in all {pieces} pieces of evidence, open at {_of(still_open, levels, 'level')}"
        if still_open
        else "everywhere"
    )


def _disagreed(decided: Sequence[JudgedEvidence]) -> DisputeConclusion:
    between = _flips_between(
        [item for item in decided if item.conclusion.kind in (ConclusionKind.HOLDS, ConclusionKind.NONE)]
    )
    within = [
        f"{_where(item, decided)}: {item.conclusion.text}"
        for item in decided
        if item.conclusion.kind is ConclusionKind.FLIPS
    ]
    if between or within:
        return DisputeConclusion(ConclusionKind.FLIPS, "; ".join([*between, *within]))
    each = "; ".join(f"{_where(item, decided)}: {item.conclusion.text}" for item in decided)
    return DisputeConclusion(ConclusionKind.DIFFERS, f"the evidence differs: {each}")


def _flips_between(whole: Sequence[JudgedEvidence]) -> list[str]:
    """Return a sentence for each two adjacent pieces with different answers that differ in one thing alone."""
    found = []
    for number, one in enumerate(whole):
        for other in whole[number + 1 :]:
            unlike = _unlike(one.evidence, other.evidence)
            if len(unlike) != 1:
                continue
            old, new = one.conclusion.positions, other.conclusion.positions
            if not set(old) & set(new) and (old or new):
                sides = f"{_side(old)}, then {_side(new)}"
                before, after = (item.evidence.sides[unlike[0]] for item in (one, other))
                found.append(f"{unlike[0]} flips the answer between {before} and {after}: {sides}")
            break
    return found


def _unlike(one: DisputeEvidence, other: DisputeEvidence) -> list[str]:
    names = dict.fromkeys([*one.sides, *other.sides])
    return [name for name in names if one.sides.get(name) != other.sides.get(name)]


def _where(item: JudgedEvidence, others: Sequence[JudgedEvidence]) -> str:
    """Return what distinguishes a piece of evidence from the others."""
    unlike = {name for other in others for name in _unlike(item.evidence, other.evidence)}
    return ", ".join(f"{name} {value}" for name, value in item.evidence.sides.items() if name in unlike and value)


def _in_order(held: Mapping[str, object], names: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name in held if name in names)


def _named(names: Sequence[str]) -> str:
    return " and ".join(f"‘{name}’" for name in names)


def _verb(names: Sequence[str]) -> str:
    return "holds" if len(names) == 1 else "hold"


def _side(names: Sequence[str]) -> str:
    return _named(names) or "none"


def _of(part: int, total: int, what: str) -> str:
    return f"{part} of {total} {what}{'' if total == 1 else 's'}"
