"""Rounds of integrated losses (`analysis.stats.strata`) of simulated loads, whose true means are known. Pure.

Each sample of rounds is a whole study of its own. It has loads with single losses at the stated point, strata that
follow from them, patterns drawn anew in each round, and the values of both arms. Procedures of verdicts go on from it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from longlook.analysis import Apart, Drawn, Packet, StatedArm, patterns, plan_strata, singles_to_try
from longlook.instruments.certify.populations import Population
from longlook.instruments.certify.simulated_loads import Load, LoadResult, Losses, SimulatedContrast
from longlook.instruments.certify.simulated_loads import LossLaw as SimulatedLaw
from longlook.network import LossLaw, LossLaws
from longlook.study import rank

BASELINE, CONTENDER = "baseline", "contender"

_TIMES, _BEHIND = 3, 100
"""Losses are drawn for as many times the packets that the longest load of the stated point has, and for these more."""


class RememberedLoad:
    """A load that runs once for each course that it takes, however many patterns of losses lead to it."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._begin = _Course.of(load(frozenset()))

    def __call__(self, lost: Losses) -> LoadResult:
        """Return what comes of the load if these packets are lost."""
        course, met, place = self._begin, frozenset[Packet](), -1
        while True:
            behind = [at for packet in lost if (at := course.places.get(packet, -1)) > place]
            if not behind:
                return course.result
            place = min(behind)
            packet = course.result.order[place]
            met |= {packet}
            if packet not in course.onward:
                course.onward[packet] = _Course.of(self._load(met))
            course = course.onward[packet]


@dataclass(frozen=True)
class _Course:
    """A load with some losses: what came of it, and its courses if one packet more is lost behind the last of these."""

    result: LoadResult
    places: Mapping[Packet, int]
    onward: dict[Packet, "_Course"] = field(default_factory=dict)

    @classmethod
    def of(cls, result: LoadResult) -> "_Course":
        return cls(result, {packet: place for place, packet in enumerate(result.order)})


@dataclass(frozen=True)
class SimulatedCell:
    """Two loads over one path, and what rounds draw in place of the stated point: one of `around`, each as likely as
    any other. Without any, rounds differ in losses alone; loads that are alike are sampled as if they did not.
    """

    name: str
    stated: SimulatedContrast
    around: tuple[SimulatedContrast, ...] = ()
    alike: bool = False  # the loads are of nearly one program

    @property
    def drawn(self) -> tuple[SimulatedContrast, ...]:
        """The points that rounds have."""
        return self.around or (self.stated,)

    @cached_property
    def truth(self) -> float:
        """The true mean advantage of the contender, over all patterns of losses and all points that rounds have."""
        return math.fsum(contrast.truth for contrast in self.drawn) / len(self.drawn)


class IntegratedCell:
    """A cell whose losses are integrated: planned once from its stated point, then sampled as often as one likes.

    Raise ValueError if the losses of the cell are not integrated.
    """

    def __init__(self, cell: SimulatedCell) -> None:
        self.cell = cell
        tape, point = cell.stated.tape, not cell.around and not cell.alike
        laws = LossLaws(_law(tape.up), _law(tape.down), also_random=False)
        loads = _arms(cell.stated)
        calm = {arm: load(frozenset()) for arm, load in loads.items()}
        tried = {
            arm: {frozenset({packet}): loads[arm](frozenset({packet})) for packet in chosen}
            for arm, result in calm.items()
            for chosen in [singles_to_try(result.order, laws, point=point)]
        }
        orders = {arm: result.order for arm, result in calm.items()}
        singles = [result.order for results in tried.values() for result in results.values()]
        alike = dict.fromkeys(orders, BASELINE) if cell.alike else {}
        plan = plan_strata(cell.name, laws, orders, singles, alike, point=point)
        if plan.why_sampled:
            raise ValueError(f"{cell.name}: {plan.why_sampled}")
        results = [*calm.values(), *(result for results in tried.values() for result in results.values())]
        self._until = _TIMES * max(max(result.up, result.down) for result in results) + _BEHIND
        self.plan = replace(plan, until=dict.fromkeys(plan.until, self._until))
        self.trials_before = max(1 + len(results) for results in tried.values())
        self._known = {arm: self._known_arm(arm, calm[arm], tried[arm]) for arm in loads}
        self._points = [_arms(contrast) for contrast in cell.drawn]

    def _known_arm(self, arm: str, calm: LoadResult, tried: Mapping[Losses, LoadResult]) -> StatedArm:
        results = {frozenset[Packet](): calm, **tried}
        known = StatedArm.of(self.plan, arm, {lost: math.log(result.value) for lost, result in results.items()})
        if known is None:
            raise ValueError(f"{self.cell.name}: arm {arm} has no value")
        return known

    def rounds_of(self, trials: int) -> int:
        """Return how many rounds an arm has with this number of trials, those at the stated point included."""
        return (trials - self.trials_before) // len(list(patterns(self.plan, 0, self.cell.name, 0)))

    def sample(self, seed: int, rounds: int) -> Population:
        """Return rounds with losses and points of their own for each seed.

        Raise ValueError if a load has more packets than losses are drawn for.
        """
        advantages, unseen, apart = np.empty(rounds), np.empty((2, rounds)), list[Apart]()
        dearest = max(cost for arm in self._known.values() for cost in arm.measured.values())
        for number in range(rounds):
            drawn = list(patterns(self.plan, seed, self.cell.name, number))
            point = self._points[rank("point", seed, self.cell.name, number) % len(self._points)]
            values = []
            for place, (arm, load) in enumerate(point.items()):
                trials = [Drawn(pattern.stratum, pattern.lost, self._value(load, pattern.lost)) for pattern in drawn]
                value = self._known[arm].round_value(trials)
                if value is None:
                    raise ValueError(f"{self.cell.name}: a round of arm {arm} has no value")
                values.append(value)
                unseen[place, number] = self._known[arm].unseen_pct(trials, value, is_log=True)
                dearest = max(dearest, *(trial.value - self._known[arm].base for trial in trials))
            if self.plan.alike:
                here = [arm.apart(trials, dearest) for arm in self._known.values()]
                apart.append(max(here, key=lambda item: item.distance / item.trials))
            advantages[number] = values[0] - values[1]
        return Population(self.cell.name, "simulated", advantages, unseen_pct=unseen, apart=tuple(apart))

    def _value(self, load: Load, lost: Losses) -> float:
        result = load(lost)
        if max(result.up, result.down) > self._until:
            raise ValueError(f"{self.cell.name}: a load has more than {self._until} packets in a direction")
        return math.log(result.value)


def _arms(contrast: SimulatedContrast) -> dict[str, Load]:
    return {BASELINE: RememberedLoad(contrast.baseline), CONTENDER: RememberedLoad(contrast.contender)}


def _law(law: SimulatedLaw) -> LossLaw:
    return LossLaw(tuple(law.start), tuple(law.lost), tuple(map(tuple, law.step)))
