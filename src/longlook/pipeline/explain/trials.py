"""The counterfactual trials of one cell: what ran of them, what it gave, and what it may still cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import Outcome, Plan, Study, Trial, codec, find_metric
from longlook.explain import CounterfactualPlan, Gap
from longlook.pipeline.explain.cells import CellGap
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import measure_plan
from longlook.study import VIRTUAL
from longlook.timeline import traffic_digest


@dataclass(frozen=True)
class RunPlace:
    """The place and the options of a cell's trials. `only` names the cell; `out` is the folder of its runs."""

    gap: CellGap
    only: tuple[str, ...]
    out: Path
    budget: int | None
    options: RunOptions
    observer: Observer


@dataclass(frozen=True)
class _Good:
    """A trial that went well: its value, and the digest of what its links saw of packets (None: not known)."""

    value: float
    traffic: str | None


class CellTrials:
    """Runs trials of plans that grow from the cell's own arms; in virtual time none of them twice.

    `counterfactual` has the ids of all trials that ran so far, without the cell's own arms. In real time a trial
    runs again together with the trials that it is compared with.
    """

    def __init__(self, study: Study, place: RunPlace) -> None:
        self.study = replace(study, metrics=(place.gap.contrast.metric,))
        self.place = place
        self.counterfactual: frozenset[str] = frozenset()
        self._seen: dict[str, _Good | None] = {}
        engines = {trial.engine or place.options.engine.name for trial in self.begun().plan.trials}
        self.is_virtual = engines == {VIRTUAL}

    @property
    def left(self) -> int | None:
        """How many trials the budget has left; None if there is no bound."""
        budget = self.place.budget
        return None if budget is None else max(0, budget - len(self.counterfactual))

    def begun(self) -> CounterfactualPlan:
        """Return a plan without a change."""
        gap, engine = self.place.gap, self.place.options.engine.name
        return CounterfactualPlan(self.study, gap.contrast, gap.loser, self.place.only, engine=engine)

    def cost(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None) -> int:
        """Return how many trials a plan would add to the trials that the cell took so far."""
        return len(self._counterfactual(self._in_rounds(planned, rounds)) - self.counterfactual)

    def run(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None) -> Gap:
        """Run a plan in all rounds, or in `rounds`, unless its trials have run; return what is known of every arm."""
        return self.run_trials(planned, self._in_rounds(planned, rounds))

    def run_trials(self, planned: CounterfactualPlan, trials: Iterable[Trial]) -> Gap:
        """Run some trials of a plan, unless they have run; return what is known of every arm of the plan."""
        wanted = tuple(trials)
        self.counterfactual |= self._counterfactual(wanted)
        missing = tuple(trial for trial in wanted if not self.is_virtual or trial.id not in self._seen)
        if missing:
            part = Plan(self.study.id, codec.content_hash([trial.id for trial in missing]), missing)
            self._run(planned.study, part)
        return self._known(planned)

    def _run(self, study: Study, plan: Plan) -> None:
        out = self.place.out / f"trials-{plan.hash}"
        folder, measured = measure_plan(study, plan, out, self.place.options, self.place.observer)
        for entry in measured:
            value = entry.values.get(self.place.gap.contrast.metric)
            if entry.run.outcome is Outcome.OK and value is not None:
                self._seen[entry.trial.id] = _Good(value, traffic_digest(folder.trials / entry.trial.id, entry.trial))
            else:
                self._seen.setdefault(entry.trial.id, None)

    def _known(self, planned: CounterfactualPlan) -> Gap:
        values: dict[str, dict[int, float]] = {}
        traffic: dict[str, dict[int, str]] = {}
        for trial in planned.plan.trials:
            good = self._seen.get(trial.id)
            if good is not None:
                values.setdefault(trial.arm, {})[trial.round] = good.value
                if good.traffic is not None:
                    traffic.setdefault(trial.arm, {})[trial.round] = good.traffic
        gap = self.place.gap
        better = find_metric(gap.contrast.metric).better
        known: Mapping[str, Mapping[int, float]] = planned.completed(values)
        return Gap(gap.loser, gap.winner, better, known, gap.random_losses, planned.completed(traffic))

    def _in_rounds(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None) -> list[Trial]:
        wanted = set(self.place.gap.rounds if rounds is None else rounds)
        return [trial for trial in planned.plan.trials if trial.round in wanted]

    def _counterfactual(self, trials: Iterable[Trial]) -> frozenset[str]:
        own = (self.place.gap.loser, self.place.gap.winner)
        return frozenset(trial.id for trial in trials if trial.arm not in own)
