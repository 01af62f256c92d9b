"""Counterfactual trials → findings with verdicts. Pure.

p values of all cures of an answer are adjusted together (Holm, or the study's correction), those of the transplants
likewise: a transplant only strengthens what a cure confirmed, or stands in where no cure can be made. So are those of
making no difference, by which findings are refuted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longlook.analysis.stats import procedures
from longlook.core.model import Analysis, Better
from longlook.explain.answer import Dose, Explained, Judged, Together
from longlook.explain.attribution import Closed, Conclusion, Floats, closed, concludes, monotone
from longlook.explain.cause import Cause, Finding, Kind, Untestable
from longlook.explain.counterfactual import Experiment

Values = Mapping[str, Mapping[int, float]]
"""Arm → round → value of the metric, of trials that went well."""

LEAST_SHARE_OF_ROUNDS = 0.9
"""A change whose trials go well in fewer of the rounds concludes nothing: those that fail are seldom like others."""


@dataclass(frozen=True)
class Gap:
    """The two arms whose gap is explained, the values of all arms, and the random losses of a load (None: no such)."""

    loser: str
    winner: str
    better: Better
    values: Values
    random_losses: float | None = None

    def rounds(self, loser: str, winner: str) -> list[int]:
        """Return the rounds that both of these arms and both of the cell have a value for, in order."""
        arms = (self.loser, self.winner, loser, winner)
        return sorted(set.intersection(*(set(self.values.get(arm, {})) for arm in arms)))

    def closed(self, arms: Mapping[str, str], analysis: Analysis) -> Closed | None:
        """Return what arms in the place of those of the cell close of its gap; None below two rounds with values."""
        rounds, before, after, is_log = self.both(arms)
        if len(rounds) < 2:
            return None
        return closed(before, after, analysis, is_log=is_log, losses=self.random_losses)

    def both(self, arms: Mapping[str, str]) -> tuple[list[int], Floats, Floats, bool]:
        """Return rounds, their gaps, the gaps with arms in the place of those of the cell, and if they are log ratios.

        Both gaps are on one scale, whichever arms have values that are not positive.
        """
        loser, winner = arms.get(self.loser, self.loser), arms.get(self.winner, self.winner)
        rounds = self.rounds(loser, winner)
        first, second = (
            np.array([self.values[arm][number] for arm in both for number in rounds], np.float64)
            for both in ((self.loser, loser), (self.winner, winner))
        )
        gaps, is_log = procedures.advantages(first, second, self.better)
        return rounds, gaps[: len(rounds)], gaps[len(rounds) :], is_log

    def winners_part_pct(self, arms: Mapping[str, str]) -> float | None:
        """Return the part of the gap, in %, that closes because the winner gets worse; None but for log ratios.

        A change of both arms closes a gap by what it does to either. None, too, where the winner is not changed.
        """
        changed = arms.get(self.winner)
        rounds, gaps, _, is_log = self.both(arms)
        if changed is None or self.loser not in arms or len(rounds) < 2 or not is_log or not gaps.mean():
            return None
        worse, before = (np.array([self.values[arm][number] for number in rounds]) for arm in (changed, self.winner))
        return float(100 * procedures.advantages(worse, before, self.better)[0].mean() / gaps.mean())

    def missing(self, result: Closed) -> str:
        """Return the reason why a change concludes nothing that makes too many trials fail, empty where it does not."""
        planned = len(self.rounds(self.loser, self.winner))
        if result.rounds >= LEAST_SHARE_OF_ROUNDS * planned:
            return ""
        return f"the changed trials went well in {result.rounds} of {planned} rounds only"


def judge(
    gap: Gap,
    findings: Sequence[Finding],
    tests: Sequence[Experiment],
    untestable: Mapping[str, Sequence[Untestable]],
    causes: Mapping[str, Cause],
    analysis: Analysis,
) -> list[Explained]:
    """Return every finding with its verdict, the largest confirmed share first."""
    read = [(test, gap.closed(test.arms, analysis)) for test in tests]
    judged: dict[tuple[str, Kind], list[Judged]] = {}
    for kind in (Kind.CURE, Kind.TRANSPLANT):
        own = [(test, result) for test, result in read if test.intervention.kind is kind]
        p, p_none = (
            _adjusted([None if result is None else getattr(result, name) for _, result in own], analysis)
            for name in ("p", "p_none")
        )
        for index, (test, result) in enumerate(own):
            item = _judged(gap, test, result, (p[index], p_none[index]), analysis)
            judged.setdefault((test.finding.cause, kind), []).append(item)
    found = []
    for finding in findings:
        doses = [
            Dose(test.intervention.dose or 0.0, test.intervention.change.label, result.closed_pct)
            for test, result in read
            if test.finding.cause == finding.cause and test.intervention.dose is not None and result is not None
        ]
        found.append(
            _explained(
                finding,
                causes[finding.cause],
                tuple(judged.get((finding.cause, Kind.CURE), ())),
                tuple(judged.get((finding.cause, Kind.TRANSPLANT), ())),
                tuple(sorted(doses, key=lambda dose: dose.value)),
                [item.reason for item in untestable.get(finding.cause, ())],
            )
        )
    return sorted(found, key=_order)


def together(gap: Gap, labels: Sequence[str], arms: Mapping[str, str], analysis: Analysis) -> Together | None:
    """Return what all confirmed changes close at once; None where their trials did not go well."""
    result = gap.closed(arms, analysis)
    return None if result is None else Together(tuple(labels), result.share, result.closed_pct)


def _adjusted(values: Sequence[float | None], analysis: Analysis) -> list[float | None]:
    """Return p values adjusted together, those that are not known aside."""
    known = [value for value in values if value is not None]
    adjusted = iter(procedures.adjust(known, analysis.correction))
    return [None if value is None else next(adjusted) for value in values]


def _judged(
    gap: Gap, test: Experiment, result: Closed | None, p: tuple[float | None, float | None], analysis: Analysis
) -> Judged:
    """Return one test with its verdict; `p` are the adjusted p values of `Closed`."""
    change = test.intervention.change
    settings = {key: str(value) for key, value in change.settings.items()}
    if result is None:
        failed = "fewer than two rounds in which the changed trials went well"
        target = str(test.intervention.target)
        return Judged(change.label, target, Conclusion.INCONCLUSIVE, 0, None, None, None, settings, failed)
    missing = gap.missing(result)
    conclusion = Conclusion.INCONCLUSIVE if missing else concludes(*p, analysis.alpha)
    return Judged(
        change.label,
        str(test.intervention.target),
        conclusion,
        result.rounds,
        result.share,
        result.closed_pct,
        p[0],
        settings,
        missing,
        gap.winners_part_pct(test.arms),
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
    return Explained(
        cause=finding.cause,
        title=cause.title,
        sentence=cause.said_of(finding),
        source=cause.source,
        arm=finding.arm,
        role=finding.role,
        conclusion=_conclusion(cures, transplants),
        strength_ms=finding.strength_ns / 1e6,
        seen_in=len(finding.signs),
        evidence=tuple(f"{item.time_ns / 1e6:.1f} ms: {item.text}" for item in first.evidence),
        cures=cures,
        transplants=transplants,
        doses=doses,
        monotone=monotone([dose.closed_pct for dose in doses], [dose.value for dose in doses]),
        untestable=tuple(reasons),
    )


def _conclusion(cures: Sequence[Judged], transplants: Sequence[Judged]) -> Conclusion:
    """Return the verdict of a finding: a cure decides, and without any a transplant; both together are both ways."""
    if not cures and not transplants:
        return Conclusion.UNTESTABLE
    by_cure = _best(cures)
    by_transplant = _best(transplants)
    if by_cure is Conclusion.CONFIRMED and by_transplant is Conclusion.CONFIRMED:
        return Conclusion.CONFIRMED_BOTH_WAYS
    return by_cure or by_transplant or Conclusion.UNTESTABLE


def _best(judged: Sequence[Judged]) -> Conclusion | None:
    found = {item.conclusion for item in judged}
    order = (Conclusion.CONFIRMED, Conclusion.INCONCLUSIVE, Conclusion.REFUTED)
    return next((conclusion for conclusion in order if conclusion in found), None)


def _order(item: Explained) -> tuple[bool, float, str]:
    best = item.best
    size = best.closed_pct if best is not None and best.closed_pct is not None else 0.0
    return not item.is_confirmed, -size, item.cause
