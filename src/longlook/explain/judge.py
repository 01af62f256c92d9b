"""Counterfactual trials → findings with verdicts. Pure.

The p values of all cures of an answer are adjusted together (Holm, or the study's correction). The transplants have a
group of their own: a transplant only strengthens a confirmed cure, or stands in if no cure can be made. Two further
groups are the p values of making no difference, by which findings are refuted, and of making the winner worse.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from longlook.analysis import Apart, compared, procedures
from longlook.core import Analysis, Metric
from longlook.explain.answer import Dose, Explained, Judged, Together, direct
from longlook.explain.attribution import Closed, Conclusion, Look, Parts, Room, Unseen, closed, concludes, monotone
from longlook.explain.cause import Cause, Finding, Purpose, Sign, Touches, Untestable
from longlook.explain.counterfactual import Experiment

_SAME_DOSE = 0.1
_SAME_STRENGTH, _HALF = 0.9, 0.5
_GONE_STRENGTH = 0.2


def as_before(before: Sign, after: Sign | None) -> bool:
    """Return whether a detector sees the same with a change as without.

    The same is a value that matters (window, threshold, count) within a tenth, at half of the strength or more; of a
    sign without a value it is nine tenths of the strength.
    """
    if after is None or after.strength_ns <= 0:
        return False
    if before.dose is None or after.dose is None:
        return after.strength_ns >= _SAME_STRENGTH * before.strength_ns
    same = abs(after.dose - before.dose) <= _SAME_DOSE * abs(before.dose)
    return same and after.strength_ns >= _HALF * before.strength_ns


def is_gone(before: Sign, after: Sign | None) -> bool:
    """Return whether a detector sees nothing with a change, or a fifth of the strength at most."""
    return after is None or after.strength_ns <= _GONE_STRENGTH * before.strength_ns


def consequences(gone: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Return the causes that are consequences of others, each with the other. `gone` has, by the cause that was cured,
    the causes whose signs went with it.

    One follows from another if its sign goes when that is cured, and the other's stays when it is cured itself.
    """
    return {
        one: other
        for other, signs in gone.items()
        for one in sorted(signs)
        if one in gone and one != other and other not in gone[one]
    }


Values = Mapping[str, Mapping[int, float]]
"""Arm → round → value of the metric, of trials that went well."""

LEAST_SHARE_OF_ROUNDS = 0.9
"""A change whose trials go well in fewer of the rounds concludes nothing: the failing rounds are seldom like others."""


Traffic = Mapping[str, Mapping[int, str]]
"""Arm → round → digest of what the link saw: when each packet came, and what became of it."""


@dataclass(frozen=True)
class Gap:
    """The two arms whose gap is explained, and the values of all arms.

    `unseen_pct` has by arm by how much a value of a round that was not seen may be larger, in %. It is empty if the
    path loses nothing at random. `apart` has for an arm of the cell and another arm how far losses that no round drew
    may part them, by either arm; nothing of arms that are not nearly one program.
    """

    loser: str
    winner: str
    metric: Metric
    values: Values
    unseen_pct: Mapping[str, float] = field(default_factory=dict)
    apart: Mapping[tuple[str, str], Sequence[Apart]] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=dict)

    def until(self, last: int | None) -> "Gap":
        """Return the same with the rounds up to and with `last` alone; with all if `last` is None."""
        if last is None:
            return self
        values = {
            arm: {number: value for number, value in own.items() if number <= last} for arm, own in self.values.items()
        }
        return replace(self, values=values)

    def rounds(self, loser: str, winner: str) -> list[int]:
        """Return the rounds that both of these arms and both of the cell have a value for, in order."""
        arms = (self.loser, self.winner, loser, winner)
        return sorted(set.intersection(*(set(self.values.get(arm, {})) for arm in arms)))

    def closed(self, arms: Mapping[str, str], analysis: Analysis, look: Look = Look.FIXED) -> Closed | None:
        """Return the part of the gap that arms close in the place of the cell's arms; None below two rounds with
        values.
        """
        rounds, parts = self.parts(arms, analysis)
        if len(rounds) < 2:
            return None
        error = (1 - analysis.confidence) / 2
        unseen = Unseen(
            self._room(list(arms.items()), len(rounds), error),
            self._room([(self.loser, self.winner)], len(rounds), error),
        )
        return closed(parts, analysis, unseen, look)

    def _room(self, pairs: Sequence[tuple[str, str]], rounds: int, error: float) -> Room:
        """Return the room for losses that this number of rounds did not meet, in what parts each pair of arms.

        The same losses may part both pairs, so that distances add up.
        """
        larger, beside = 0.0, 0.0
        for pair in pairs:
            if known := self.apart.get(pair):
                beside += max(apart.room(rounds, error) for apart in known)
            else:
                larger = max(larger, *(self.unseen_pct.get(arm, 0.0) for arm in pair))
        return Room(larger, beside)

    def parts(self, arms: Mapping[str, str], analysis: Analysis) -> tuple[list[int], Parts]:
        """Return rounds, and their gaps without and with arms in the place of the cell's arms.

        All are on one scale, whichever arms have values that are not positive.
        """
        loser, winner = arms.get(self.loser, self.loser), arms.get(self.winner, self.winner)
        rounds = self.rounds(loser, winner)
        values = {
            arm: np.array([self.values[arm][number] for number in rounds], np.float64)
            for arm in (self.loser, self.winner, loser, winner)
        }
        worse = (self.loser, loser, self.loser, winner)  # each value twice, so that the scale is that of both gaps
        better = (self.winner, winner, loser, self.winner)
        first, second = (np.concatenate([values[arm] for arm in side]) for side in (worse, better))
        advantages, scale = compared(first, second, self.metric, analysis)
        gap, changed, own, _ = np.split(advantages, 4)
        return rounds, Parts(gap, changed, scale, own if {self.loser, self.winner} <= set(arms) else None)

    def winners_part_pct(self, arms: Mapping[str, str], analysis: Analysis) -> float | None:
        """Return the part of the gap, in %, that closes because the winner gets worse; None unless both arms are
        changed.

        A change of both arms closes a gap by what it does to either.
        """
        rounds, parts = self.parts(arms, analysis)
        if parts.own is None or len(rounds) < 2 or not parts.gap.mean():
            return None
        return float(100 * (parts.closed - parts.own).mean() / parts.gap.mean())

    def is_unchanged(self, arms: Mapping[str, str]) -> bool:
        """Return whether arms in the place of the cell's arms did the same as the cell's arms, packet for packet.

        All rounds must be the same.
        """
        planned = self.rounds(self.loser, self.winner)
        return bool(planned) and all(
            number in self.traffic.get(old, {})
            and self.traffic[old][number] == self.traffic.get(new, {}).get(number)
            and math.isclose(
                self.values[old][number],
                self.values.get(new, {}).get(number, math.inf),
                rel_tol=procedures.ROUNDING,
            )
            for old, new in arms.items()
            for number in planned
        )

    def missing(self, result: Closed) -> str:
        """Return why a change concludes nothing that makes too many trials fail; empty if it makes few fail."""
        planned = len(self.rounds(self.loser, self.winner))
        if result.rounds >= LEAST_SHARE_OF_ROUNDS * planned:
            return ""
        return f"the changed trials went well in {result.rounds} of {planned} rounds only"


@dataclass(frozen=True)
class RoundsReading:
    """How tests were read: after all rounds, or, if `at_looks`, at several looks, at which some of them stopped.

    `stopped` maps a test's place to its last round, if the test stopped. `spared` counts tests that were not made since
    nothing depended on them; p values are adjusted as if these had found nothing. `untouched` has the tests, by their
    place, whose changed trial showed the cause as it was.
    """

    at_looks: bool = False
    stopped: Mapping[int, int] = field(default_factory=dict)
    spared: Mapping[Purpose, int] = field(default_factory=dict)
    untouched: frozenset[int] = frozenset()

    def look(self, place: int) -> Look:
        """Return what kind of look a test ended with."""
        if not self.at_looks:
            return Look.FIXED
        return Look.EARLY if place in self.stopped else Look.LAST


def judge_findings(
    gap: Gap,
    findings: Sequence[Finding],
    tests: Sequence[Experiment],
    untestable: Mapping[str, Sequence[Untestable]],
    causes: Mapping[str, Cause],
    analysis: Analysis,
    reading: RoundsReading | None = None,
) -> list[Explained]:
    """Return every finding with its verdict, the largest confirmed share first; by default all rounds are read once."""
    how = reading or RoundsReading()
    read = []
    for place, test in enumerate(tests):
        seen = gap.until(how.stopped.get(place))
        read.append((test, seen, seen.closed(test.arms, analysis, how.look(place))))
    judged: dict[tuple[str, Purpose], list[Judged]] = {}
    for kind in (Purpose.CURE, Purpose.TRANSPLANT):
        own = [(place, *item) for place, item in enumerate(read) if item[0].intervention.kind is kind]
        p = [
            _adjusted([None if result is None else getattr(result, name) for *_, result in own], analysis, spared)
            for name, spared in (("p", how.spared.get(kind, 0)), ("p_none", how.spared.get(kind, 0)), ("p_winner", 0))
        ]
        for (place, test, seen, result), adjusted in zip(own, zip(*p, strict=True), strict=True):
            item = _judged(seen, test, result, adjusted, analysis)
            if place in how.untouched and item.conclusion is Conclusion.REFUTED:
                item = replace(item, conclusion=Conclusion.UNTOUCHED)
            judged.setdefault((test.finding.cause, kind), []).append(item)
    found = []
    illustrated = {test.finding.cause for test in tests if test.intervention.kind is Purpose.DOSE}
    for finding in findings:
        doses = [
            Dose(test.intervention.dose or 0.0, test.intervention.change.label, result.closed, result.unit)
            for test, _, result in read
            if test.finding.cause == finding.cause
            and finding.cause in illustrated
            and test.intervention.dose is not None
            and result is not None
        ]
        found.append(
            _explained(
                finding,
                causes[finding.cause],
                tuple(judged.get((finding.cause, Purpose.CURE), ())),
                tuple(judged.get((finding.cause, Purpose.TRANSPLANT), ())),
                tuple(sorted(doses, key=lambda dose: dose.value)),
                [item.reason for item in untestable.get(finding.cause, ())],
            )
        )
    return sorted(found, key=_order)


def together(gap: Gap, labels: Sequence[str], arms: Mapping[str, str], analysis: Analysis) -> Together | None:
    """Return what all confirmed changes close at once; None if their trials did not go well."""
    result = gap.closed(arms, analysis)
    return None if result is None else Together(tuple(labels), result.share, result.closed, result.unit)


def _adjusted(values: Sequence[float | None], analysis: Analysis, spared: int = 0) -> list[float | None]:
    """Return p values adjusted together, unknown ones aside, and with a p of 1 for each spared test."""
    known = [value for value in values if value is not None]
    adjusted = iter(procedures.adjust([*known, *[1.0] * spared], analysis.correction))
    return [None if value is None else next(adjusted) for value in values]


def _judged(
    gap: Gap, test: Experiment, result: Closed | None, adjusted: tuple[float | None, ...], analysis: Analysis
) -> Judged:
    """Return one test with its verdict; `adjusted` are p, p_none and p_winner of `Closed`, adjusted."""
    p, p_none, p_winner = adjusted
    change = test.intervention.change
    settings = {key: str(value) for key, value in change.settings.items()}
    if result is None:
        failed = "fewer than two rounds in which the changed trials went well"
        target, touches = str(test.intervention.target), test.intervention.touches
        nothing = Judged(change.label, target, Conclusion.INCONCLUSIVE, 0, None, None, None, settings, failed)
        return replace(nothing, touches=touches)
    missing = gap.missing(result)
    conclusion = Conclusion.INCONCLUSIVE if missing else concludes(p, p_none, analysis.alpha, p_winner)
    return Judged(
        change.label,
        str(test.intervention.target),
        Conclusion.NO_CHANGE if gap.is_unchanged(test.arms) else conclusion,
        result.rounds,
        result.share,
        result.closed,
        p,
        settings,
        missing,
        gap.winners_part_pct(test.arms, analysis),
        test.intervention.touches,
        result.unit,
    )


def _explained(
    finding: Finding,
    cause: Cause,
    cures: tuple[Judged, ...],
    transplants: tuple[Judged, ...],
    doses: tuple[Dose, ...],
    reasons: Sequence[str],
) -> Explained:
    first = next(iter(finding.signs.values()))
    conclusion, direct_one = _conclusion(cures, transplants, is_alike=finding.is_alike)
    same = [
        f"{item.change}: a trial with it shows the cause as before, so it tests nothing; what is needed is a change "
        "after which the sign is gone"
        for item in (*cures, *transplants)
        if item.conclusion is Conclusion.UNTOUCHED
    ]
    return Explained(
        cause=finding.cause,
        title=cause.title,
        sentence=cause.said_of(finding),
        source=cause.source,
        arm=finding.arm,
        role=finding.role,
        conclusion=conclusion,
        strength_ms=finding.strength_ns / 1e6,
        seen_in=len(finding.signs),
        seen_pct=finding.seen_pct if finding.shares else None,
        evidence=tuple(f"{item.time_ns / 1e6:.1f} ms: {item.text}" for item in first.evidence),
        cures=cures,
        transplants=transplants,
        doses=doses,
        monotone=monotone([dose.closed for dose in doses], [dose.value for dose in doses]),
        untestable=tuple(dict.fromkeys((*reasons, *same))),
        where=cause.placed_at(finding),
        alike=finding.role if finding.is_alike else "",
        direct=direct_one,
    )


def _conclusion(
    cures: Sequence[Judged], transplants: Sequence[Judged], *, is_alike: bool
) -> tuple[Conclusion, Conclusion | None]:
    """Return the verdict of a finding, and the verdict by changes of the mechanism alone if that differs.

    Only changes of the mechanism confirm a cause, and only at an end in which the arms differ. If they do not confirm
    it, a change of the occasion can show where the gap arises, and a swap of programs can show at which end it arises.
    """
    by_mechanism = _weighed(direct(cures), direct(transplants))
    if by_mechanism in (Conclusion.CONFIRMED, Conclusion.CONFIRMED_BOTH_WAYS):
        return (Conclusion.WHERE, by_mechanism) if is_alike else (by_mechanism, None)
    others = [item for item in (*cures, *transplants) if item.touches is not Touches.MECHANISM]
    for touches, conclusion in ((Touches.OCCASION, Conclusion.WHERE), (Touches.PROGRAM, Conclusion.WHICH_END)):
        if any(item.touches is touches and item.conclusion is Conclusion.CONFIRMED for item in others):
            return conclusion, by_mechanism
    rest = _weighed([item for item in cures if item in others], [item for item in transplants if item in others])
    if rest is Conclusion.ADVANTAGE or by_mechanism is None:
        tested = (*cures, *transplants)
        unchanged = [item for item in tested if item.conclusion is Conclusion.NO_CHANGE]
        without = Conclusion.NO_CHANGE if tested and len(unchanged) == len(tested) else Conclusion.UNTESTABLE
        return rest or without, by_mechanism
    return by_mechanism, None


def _weighed(cures: Sequence[Judged], transplants: Sequence[Judged]) -> Conclusion | None:
    """Return the decision of a cure, and without any of a transplant; both together are both ways; None: nothing
    decides.

    A change that changes nothing, or leaves the cause as it was, counts as one that could not be made.
    """
    by_cure, by_transplant = _best(cures), _best(transplants)
    if by_cure is Conclusion.CONFIRMED and by_transplant is Conclusion.CONFIRMED:
        return Conclusion.CONFIRMED_BOTH_WAYS
    return by_cure or by_transplant


def _best(judged: Sequence[Judged]) -> Conclusion | None:
    found = {item.conclusion for item in judged}
    order = (Conclusion.CONFIRMED, Conclusion.ADVANTAGE, Conclusion.INCONCLUSIVE, Conclusion.REFUTED)
    return next((conclusion for conclusion in order if conclusion in found), None)


def _order(item: Explained) -> tuple[int, float, str]:
    best = item.best
    size = best.closed if best is not None and best.closed is not None else 0.0
    return 0 if item.is_confirmed else 1 if item.is_placed else 2, -size, item.cause
