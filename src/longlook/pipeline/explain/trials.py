"""The counterfactual trials of one cell: what ran of them, what it gave, and what it may still cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from longlook.analysis import NONE, MeasuredAttempt, Packet, Traffic, program_of, rare_losses
from longlook.core import STATED, TIMELINE, Outcome, Plan, Study, Trial, codec, find_metric
from longlook.explain import ArmLoads, CounterfactualPlan, Gap, IntegratedReading, Tape
from longlook.pipeline.explain.cells import CellGap
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.sample import measure_plan
from longlook.pipeline.strata import arrived_in
from longlook.study import VIRTUAL
from longlook.timeline import Timeline, traffic_digest


@dataclass(frozen=True)
class RunPlace:
    """The place and the options of a cell's trials. `only` names the cell; `out` is the folder of its runs; `tape` has
    its loads.
    """

    gap: CellGap
    only: tuple[str, ...]
    out: Path
    budget: int | None
    options: RunOptions
    observer: Observer
    tape: Tape = field(default_factory=Tape)


@dataclass(frozen=True)
class _Good:
    """A trial that went well: its value, the digest of what its links saw of packets (None: not known), and the packets
    of its load if losses are integrated (None: they have no numbers).
    """

    value: float
    traffic: str | None
    packets: tuple[Packet, ...] | None


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
        plan = self.begun()
        trials = [trial for arm in plan.arms for trial in plan.loads(arm).values()]
        self.is_virtual = {trial.engine or place.options.engine.name for trial in trials} == {VIRTUAL}
        self._own = frozenset(
            plan.loads(arm)[number].id for arm in plan.arms for number in place.tape.of_run(plan.loads(arm))
        )

    @property
    def left(self) -> int | None:
        """How many trials the budget has left; None if there is no bound."""
        budget = self.place.budget
        return None if budget is None else max(0, budget - len(self.counterfactual))

    def begun(self) -> CounterfactualPlan:
        """Return a plan without a change."""
        gap, engine, place = self.place.gap, self.place.options.engine.name, self.place
        return CounterfactualPlan(self.study, gap.contrast, gap.loser, place.only, engine=engine, tape=place.tape)

    def cost(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None, *, brief: bool = False) -> int:
        """Return how many trials a plan would add at most to the trials that the cell took so far."""
        wanted = dict.fromkeys(planned.arms, self.place.gap.rounds if rounds is None else rounds)
        trials = self._in_rounds(planned, wanted, brief=brief, assumed=True)
        return len(self._counterfactual(trials) - self.counterfactual)

    def run(self, planned: CounterfactualPlan, rounds: Sequence[int] | None = None, *, brief: bool = False) -> Gap:
        """Run a plan in all rounds, or in `rounds`, unless its trials have run; return what is known of every arm."""
        wanted = dict.fromkeys(planned.arms, self.place.gap.rounds if rounds is None else rounds)
        return self.run_arms(planned, wanted, brief=brief)

    def run_arms(self, planned: CounterfactualPlan, rounds: Mapping[str, Sequence[int]], *, brief: bool = False) -> Gap:
        """Run the loads of some arms of a plan in some rounds each, unless they have run; return what is known of every
        arm of the plan.

        If losses are integrated, loads at the stated point run first. The loads without loss say which single losses an
        arm takes, and all of them say which strata rounds still have to sample. `brief` is as in `IntegratedReading`.
        """
        if self.place.tape.is_integrated:
            for _ in ("without loss", "with single losses"):
                self._run(planned, self._in_rounds(planned, dict.fromkeys(rounds, ()), brief=brief))
        self._run(planned, self._in_rounds(planned, rounds, brief=brief))
        return self._known(planned, brief=brief)

    def trials_per_arm(self) -> int:
        """Return about how many trials a changed arm takes in all rounds."""
        rounds, tape = self.place.gap.rounds, self.place.tape
        if not tape.is_integrated:
            return len(rounds)
        singles = max(map(len, tape.tried.values()), default=0)
        return 1 + singles + sum(len(tape.in_round(number)) for number in rounds)

    def _run(self, planned: CounterfactualPlan, wanted: Sequence[Trial]) -> None:
        self.counterfactual |= self._counterfactual(wanted)
        missing = tuple(trial for trial in wanted if not self.is_virtual or trial.id not in self._seen)
        if not missing:
            return
        part = Plan(self.study.id, codec.content_hash([trial.id for trial in missing]), missing)
        out = self.place.out / f"trials-{part.hash}"
        folder, measured = measure_plan(planned.study, part, out, self.place.options, self.place.observer)
        arrived, cell = arrived_in(measured), self.place.tape.cell
        for entry in measured:
            value = entry.values.get(self.place.gap.contrast.metric)
            overran = cell is not None and bool(entry.trial.stratum) and cell.overran(arrived[entry.trial.id])
            if entry.run.outcome is Outcome.OK and value is not None and not overran:
                path = folder.trials / entry.trial.id
                self._seen[entry.trial.id] = _Good(value, traffic_digest(path, entry.trial), self._packets(entry, path))
            else:
                self._seen.setdefault(entry.trial.id, None)

    def _packets(self, entry: MeasuredAttempt, path: Path) -> tuple[Packet, ...] | None:
        """Return the packets of a load at the stated point without loss; other loads are not asked."""
        if entry.trial.round != STATED or entry.trial.stratum != NONE:
            return None
        traffic = Traffic.of(Timeline.read(path / TIMELINE))
        return None if traffic is None else tuple(traffic.load())

    def _known(self, planned: CounterfactualPlan, *, brief: bool = False) -> Gap:
        gap, metric = self.place.gap, find_metric(self.place.gap.contrast.metric)
        if self.place.tape.is_integrated:
            reading = self._reading(planned, brief=brief)
            known = {arm: reading.rounds(arm, gap.rounds) for arm in planned.arms}
            pairs = [(own, arm) for own in (gap.loser, gap.winner) for arm in planned.arms if arm != own]
            return Gap(
                gap.loser,
                gap.winner,
                metric,
                {arm: own.values for arm, own in known.items()},
                {arm: own.unseen_pct for arm, own in known.items() if own.unseen_pct is not None},
                {pair: reading.apart(*pair, gap.rounds) for pair in pairs},
                {arm: own.traffic for arm, own in known.items()},
            )
        good = {arm: self._good(planned, arm) for arm in planned.arms}
        larger = None if gap.random_losses is None else rare_losses.larger_pct(gap.random_losses)
        return Gap(
            gap.loser,
            gap.winner,
            metric,
            {arm: {number: one.value for number, one in own.items()} for arm, own in good.items()},
            {} if larger is None else {gap.loser: larger, gap.winner: larger},
            {},
            {
                arm: {number: one.traffic for number, one in own.items() if one.traffic is not None}
                for arm, own in good.items()
            },
        )

    def _good(self, planned: CounterfactualPlan, arm: str) -> dict[int, _Good]:
        return {
            number: good
            for number, trial in planned.loads(arm).items()
            if (good := self._seen.get(trial.id)) is not None
        }

    def _reading(self, planned: CounterfactualPlan, *, brief: bool) -> IntegratedReading:
        metric = find_metric(self.place.gap.contrast.metric)
        arms = {arm: self._arm_loads(planned, arm) for arm in planned.arms}
        return IntegratedReading(self.place.tape, metric, arms, brief=brief)

    def _arm_loads(self, planned: CounterfactualPlan, arm: str) -> ArmLoads:
        good, loads, tape = self._good(planned, arm), planned.loads(arm), self.place.tape
        calm = good.get(tape.calm)
        packets = None if calm is None else calm.packets
        return ArmLoads(
            {number: one.value for number, one in good.items()},
            {number: one.traffic for number, one in good.items() if one.traffic is not None},
            packets,
            None if packets is None else program_of(loads[tape.calm], packets),
            planned.replaced(arm),
            not planned.has_own_settings(arm),
            tape.calm in loads,
        )

    def _in_rounds(
        self,
        planned: CounterfactualPlan,
        rounds: Mapping[str, Sequence[int]],
        *,
        brief: bool,
        assumed: bool = False,
    ) -> list[Trial]:
        """Return the trials of each arm in its rounds, each once, and the trials of a round one after the other."""
        if not self.place.tape.is_integrated:
            numbers = {arm: set(own) for arm, own in rounds.items()}
        else:
            reading = self._reading(planned, brief=brief)
            numbers = {
                arm: {
                    *reading.stated_loads(arm, assumed=assumed),
                    *(at for number in own for at in reading.round_loads(arm, number)),
                }
                for arm, own in rounds.items()
            }
        found = {
            trial.id: trial
            for arm in planned.arms
            for number, trial in planned.loads(arm).items()
            if number in numbers.get(arm, ())
        }
        return sorted(found.values(), key=lambda trial: (trial.round, trial.id))

    def _counterfactual(self, trials: Iterable[Trial]) -> frozenset[str]:
        return frozenset(trial.id for trial in trials) - self._own
