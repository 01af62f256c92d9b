"""Decide which position of a dispute holds at which level, and what follows. Pure: values in, answers out
(docs/guide/claims.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from longlook.analysis import lies_within
from longlook.instruments.atlas.claims.dispute import CONSTANT, FALLS, DisputeEvidence, Holds, Position


class Held(StrEnum):
    """The relation between a value at a level and a position."""

    WITHIN = "holds"
    OUTSIDE = "does not hold"
    ACROSS = "undecided"  # the interval allows both
    NOT_APPLICABLE = "not applicable"  # a trend at its first level, or where nothing changed
    UNKNOWN = "no value"


class ConclusionKind(StrEnum):
    """The kinds of conclusions about a dispute."""

    FLIPS = "flips"
    HOLDS = "one holds"
    NONE = "none holds"
    DIFFERS = "evidence differs"
    UNDECIDED = "undecided"
    UNDECIDABLE = "undecidable"  # here; the dispute's file says why, and what could decide it
    SETTLED = "settled"  # by what the sources print


@dataclass(frozen=True)
class Point:
    """Our value at one level with its interval; without a value, `missing` gives the reason."""

    level: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    missing: str | None = None

    @property
    def span(self) -> tuple[float, float] | None:
        """The interval, or None if there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class DisputeConclusion:
    """The conclusion over all levels, in words. `positions` hold at every level that decides: `decided` of `judged`."""

    kind: ConclusionKind
    text: str
    positions: tuple[str, ...] = ()
    decided: int = 0
    judged: int = 0


@dataclass(frozen=True)
class JudgedEvidence:
    """Our values, their relation to each position (in the order of the points), and the conclusion."""

    evidence: DisputeEvidence
    points: tuple[Point, ...]
    held: Mapping[str, tuple[Held, ...]]
    conclusion: DisputeConclusion

    def answer(self, number: int) -> frozenset[str] | None:
        """Return the positions that hold at a level, or None if that is undecided."""
        return _answer([(name, held[number]) for name, held in self.held.items()])


def judge_evidence(evidence: DisputeEvidence, positions: Sequence[Position], points: Sequence[Point]) -> JudgedEvidence:
    """Return a piece of evidence with every position judged at every level, and its conclusion."""
    held = {position.name: judge(position.holds, points) for position in positions}
    return JudgedEvidence(evidence, tuple(points), held, conclude(evidence.factor, points, held))


def judge(holds: Holds, points: Sequence[Point]) -> tuple[Held, ...]:
    """Return the relation of each value to a position.

    Bounds are compared with the interval. `rises` and `falls` are compared with the last earlier level from which the
    value certainly differed by more than the tolerance (at first, with the first level). `constant` is compared with
    all other levels.
    """
    if holds.trend is None:
        return tuple(_bounded(point, holds) for point in points)
    if holds.trend == CONSTANT:
        return tuple(_constant(point, points, holds.tolerance) for point in points)
    return _rises(points, holds.tolerance, -1 if holds.trend == FALLS else 1)


def _bounded(point: Point, holds: Holds) -> Held:
    if point.span is None:
        return Held.UNKNOWN
    inside = lies_within(*point.span, holds.at_least, holds.at_most)
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
    reference: tuple[float, float] | None = None
    for point in points:
        span = point.span
        if span is None:
            found.append(Held.UNKNOWN)
            continue
        least, most = _step(reference or span, span)
        if reference is None or (least >= -tolerance and most <= tolerance):
            found.append(Held.NOT_APPLICABLE)
        elif least > tolerance or most < -tolerance:
            found.append(Held.WITHIN if (least > tolerance) == (sign > 0) else Held.OUTSIDE)
            reference = span
        else:
            found.append(Held.ACROSS)
        reference = reference or span
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
    """Return the conclusion over all levels; undecided levels are passed over, and counted."""
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
        return DisputeConclusion(ConclusionKind.UNDECIDED, f"undecided: {why}", (), *decided)
    common = frozenset.intersection(*(answer for _, answer in answers))
    everywhere = "everywhere" if len(answers) == judged else f"wherever it is decided: at {_of(*decided, 'level')}"
    if common:
        names = _in_order(held, common)
        return DisputeConclusion(ConclusionKind.HOLDS, f"{_named(names)} {_verb(names)} {everywhere}", names, *decided)
    if not any(answer for _, answer in answers):
        return DisputeConclusion(
            ConclusionKind.NONE, f"none holds, {everywhere}" if len(answers) < judged else "none holds", (), *decided
        )
    flips = [(before, after, old, new) for (before, old), (after, new) in pairwise(answers) if old != new]
    where = " and ".join(f"between {before} and {after}" for before, after, *_ in flips)
    sides = [flips[0][2], *(new for *_, new in flips)]
    in_turn = ", then ".join(_side(_in_order(held, side)) for side in sides)
    return DisputeConclusion(ConclusionKind.FLIPS, f"{factor} flips the answer {where}: {in_turn}", (), *decided)


def conclude_all(judged: Sequence[JudgedEvidence]) -> DisputeConclusion:
    """Return the conclusion over several pieces of evidence.

    If two of them differ in one setting alone and disagree, that setting flips the answer.
    """
    decided = [item for item in judged if item.conclusion.kind is not ConclusionKind.UNDECIDED]
    if len(judged) == 1:
        return judged[0].conclusion
    if not decided:
        return DisputeConclusion(
            ConclusionKind.UNDECIDED, "undecided: no piece of evidence decides", (), 0, len(judged)
        )
    counts = len(decided), len(judged)
    rest = "" if len(decided) == len(judged) else f" (by {_of(*counts, 'piece')} of evidence)"
    found = decided[0].conclusion if len(decided) == 1 else _agreed(decided) or _disagreed(decided)
    return DisputeConclusion(found.kind, f"{found.text}{rest}", found.positions, *counts)


def _agreed(decided: Sequence[JudgedEvidence]) -> DisputeConclusion | None:
    """Return the common conclusion of pieces of evidence, or None if they disagree."""
    texts = {item.conclusion.text for item in decided if item.conclusion.kind is ConclusionKind.FLIPS}
    if len(texts) == 1 and all(item.conclusion.kind is ConclusionKind.FLIPS for item in decided):
        return DisputeConclusion(ConclusionKind.FLIPS, f"{texts.pop()}, in every piece of evidence that decides")
    if all(item.conclusion.kind in (ConclusionKind.HOLDS, ConclusionKind.NONE) for item in decided):
        common = frozenset.intersection(*(frozenset(item.conclusion.positions) for item in decided))
        if common:
            names = _in_order(decided[0].held, common)
            return DisputeConclusion(
                ConclusionKind.HOLDS, f"{_named(names)} {_verb(names)} in every piece of evidence that decides", names
            )
        if not any(item.conclusion.positions for item in decided):
            return DisputeConclusion(ConclusionKind.NONE, "none holds")
    return None


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
