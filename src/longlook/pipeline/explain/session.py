"""The tests of one cell's findings: what is tested next, for how many rounds, and what was judged of it so far.

Cures come first. A transplant only strengthens what a cure confirmed, or stands in for cures, and doses only illustrate
what is confirmed, so neither runs for a finding that no cure confirmed. In a cell with enough rounds a change stops as
soon as its verdict is firm (`explain.early_stopping`). In real time all is tested at once, in all rounds: a round's
trials are only alike if they run one after the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from longlook.core import Outcome, Plan, Study, codec
from longlook.explain import (
    Cause,
    Conclusion,
    CounterfactualPlan,
    Experiment,
    Explained,
    Finding,
    FoundBy,
    Gap,
    Intervention,
    Judged,
    Look,
    Pair,
    Purpose,
    RoundsReading,
    Side,
    Target,
    Together,
    Untestable,
    add_tests,
    all_at_once,
    as_before,
    consequences,
    direct,
    is_firm,
    is_gone,
    judge_findings,
    looks_at,
    strongest,
    together,
)
from longlook.pipeline.explain.traced import side_of, with_traces
from longlook.pipeline.explain.trials import CellTrials, RunPlace
from longlook.pipeline.sample import measure_plan

Wanted = Sequence[tuple[Finding, Sequence[Intervention | Untestable]]]
"""Findings, the strongest first, each with what would be changed for it."""


@dataclass(frozen=True)
class JudgedFindings:
    """All findings that were tested so far, with their trials."""

    findings: tuple[Explained, ...] = ()
    together: Together | None = None
    tests: tuple[Experiment, ...] = ()
    left_out: tuple[str, ...] = ()


_NOTHING = (Conclusion.NO_CHANGE, Conclusion.UNTOUCHED)
"""These conclusions decide as much as a change that could not be made."""


@dataclass
class _Asked:
    """A finding with the interventions that wait for a reason to be made, and the reasons against others."""

    finding: Finding
    cause: Cause
    found_by: FoundBy
    waiting: list[Intervention]
    refused: list[Untestable] = field(default_factory=list)
    explained: Explained | None = None

    def due(self, *, at_once: bool) -> list[Intervention]:
        """Return what is to be made next: cures, then what depends on them; or all of it `at_once`."""
        if at_once:
            return list(self.waiting)
        if cures := [item for item in self.waiting if item.kind is Purpose.CURE]:
            return cures
        tested = () if self.explained is None else direct(self.explained.cures)
        transplants = [item for item in self.waiting if item.kind is Purpose.TRANSPLANT]
        if transplants and all(item.conclusion in _NOTHING for item in tested):
            return transplants
        explained = self.explained
        return list(self.waiting) if explained is not None and (explained.is_confirmed or explained.is_placed) else []


@dataclass
class _Test:
    """A test of a finding: for how many rounds it was read, and whether its changed trial was looked into.

    `left_untouched` says that the cause was in that trial as before.
    """

    experiment: Experiment
    rounds_read: int = 0
    is_witnessed: bool = False
    left_untouched: bool = False

    @property
    def kind(self) -> Purpose:
        """The purpose of the change that is tested."""
        return self.experiment.intervention.kind

    @property
    def cause(self) -> str:
        """The cause that the test is about."""
        return self.experiment.finding.cause


class Session(CellTrials):
    """The trials of one cell with their tests; what is asked is judged with what was asked before."""

    def __init__(self, study: Study, place: RunPlace, pairs: Mapping[int, Pair] | None = None) -> None:
        """Begin with the study and place of `CellTrials`; `pairs` are the traced rounds that findings were seen in."""
        super().__init__(study, place)
        self._pairs = pairs or {}
        self._asked: dict[str, _Asked] = {}
        self._plan = self.begun()
        self._tests: list[_Test] = []
        self._looks: Sequence[int] = ()  # numbers of rounds after which tests are read; one: after all of them
        self._findings: tuple[Explained, ...] = ()

    def tested(
        self, wanted: Wanted, causes: Mapping[str, Cause], found_by: FoundBy = FoundBy.DETECTOR
    ) -> JudgedFindings:
        """Test these and all earlier findings, as far as the budget goes, and return all with their verdicts."""
        for finding, items in wanted:
            waiting = [item for item in items if isinstance(item, Intervention)]
            refused = [item for item in items if isinstance(item, Untestable)]
            self._asked[finding.cause] = _Asked(finding, causes[finding.cause], found_by, waiting, refused)
        if not self._asked:
            return JudgedFindings()
        self._update_findings()
        while any(asked.due(at_once=not self.is_virtual) for asked in self._asked.values()):
            self._add_due()
            self._run_tests()
            self._update_findings()
            if self._look_into_refuted():
                self._update_findings()
        self._chain()
        tested = {test.cause for test in self._tests}
        left_out = tuple(name for name, asked in self._asked.items() if name not in tested and _over_budget(asked))
        return JudgedFindings(self._findings, self._together(), tuple(self._experiments), left_out)

    @property
    def _experiments(self) -> list[Experiment]:
        return [test.experiment for test in self._tests]

    def _add_due(self) -> None:
        """Plan what is due, as far as the budget goes, the strongest findings first."""
        left = self.left
        for asked in self._asked.values():
            chosen = []
            for item in asked.due(at_once=not self.is_virtual):
                asked.waiting.remove(item)
                cost = self._cost_of(item)
                if left is None or cost <= left:
                    left = None if left is None else left - cost
                    chosen.append(item)
                elif not _over_budget(asked):
                    asked.refused.append(OverBudget(item.kind, f"the budget leaves {left} trials, and it takes more"))
            tests, refused = add_tests(self._plan, [(asked.finding, chosen)])
            if not self.is_virtual:  # in real time all run again, together
                self._tests = [replace(test, rounds_read=0) for test in self._tests]
            self._tests += map(_Test, tests)
            asked.refused += refused[asked.finding.cause]

    def _cost_of(self, item: Intervention) -> int:
        """Return how many trials an intervention takes at most."""
        if self.place.tape.is_integrated and not item.change.settings:
            return len(item.change.surgery)
        return self.trials_per_arm() * (2 if item.target is Target.BOTH else 1)

    @property
    def _rounds(self) -> list[int]:
        return sorted(self.place.gap.rounds)

    def _run_tests(self) -> None:
        """Run every test until it is firm, or to the end of the rounds."""
        if not self._looks:
            rounds = len(self._rounds)
            self._looks = looks_at(rounds, len(self._tests), self.study.analysis) if self.is_virtual else (rounds,)
        while until := list(self._unread()):
            wanted: dict[str, int] = {}
            for test, count in until:
                for arm in (self._plan.loser, self._plan.winner, *test.experiment.arms.values()):
                    wanted[arm] = max(count, wanted.get(arm, 0))
            self.run_arms(self._plan, {arm: self._rounds[:count] for arm, count in wanted.items()})
            for test, count in until:
                test.rounds_read = count

    def _unread(self) -> Iterator[tuple[_Test, int]]:
        """Yield each test that is not firm, with the number of rounds after which each is read next."""
        space = self._known(self._plan)
        for test in self._tests:
            count = test.rounds_read
            if count < self._most(test) and not (count and self._is_firm(space, test)):
                yield test, min(self._most(test), next(look for look in self._looks if look > count))

    def _most(self, test: _Test) -> int:
        """Return how many rounds a test takes at most: a dose no more than others of its finding."""
        if test.kind is not Purpose.DOSE:
            return len(self._rounds)
        others = [
            other.rounds_read
            for other in self._tests
            if other.rounds_read and other.cause == test.cause and other.kind is not Purpose.DOSE
        ]
        return min(others, default=len(self._rounds))

    def _is_firm(self, space: Gap, test: _Test) -> bool:
        seen = space.until(self._rounds[test.rounds_read - 1])
        result = seen.closed(test.experiment.arms, self.study.analysis, Look.EARLY)
        count = sum(other.kind is test.kind for other in self._tests) + self._spared(test.kind)
        return result is not None and not seen.missing(result) and is_firm(result, count, self.study.analysis)

    def _look_into_refuted(self) -> bool:
        """Trace a trial of each change that made no difference; return whether one shows the cause as it was before.

        Such a change did not touch the cause: it refutes nothing.
        """
        found = False
        for test in self._tests:
            asked, experiment = self._asked[test.cause], test.experiment
            refuted = _is_refuted(asked.explained, experiment, self._experiments)
            if test.is_witnessed or not self.is_virtual or not refuted:
                continue
            number = min(experiment.finding.signs)
            if not self._can_be_traced(experiment):
                continue
            test.is_witnessed = True
            changed = self._traced(experiment)
            if changed is not None and as_before(experiment.finding.signs[number], asked.cause.detect(changed)):
                test.left_untouched = found = True
        return found

    def _can_be_traced(self, test: Experiment) -> bool:
        """Return whether a round of a test was traced without the change, and the budget leaves one with it."""
        return min(test.finding.signs) in self._pairs and (self.left is None or self.left >= test.trials_per_round)

    def _traced(self, test: Experiment) -> Pair | None:
        """Run the first round of a test's finding again with the change, and with traces; None if a load went wrong."""
        number = min(test.finding.signs)
        changed = traced_change(self.study, self.place, test, self._pairs[number], number)
        self.counterfactual |= changed.trials
        return changed.pair

    def _chain(self) -> None:
        """Say which confirmed causes are consequences of others: a cure of one takes the sign of the other away."""
        tests = self._experiments
        cured = [(item, found[0]) for item in self._findings if (found := _confirming(item, tests)) is not None]
        cured = [(item, test) for item, test in cured if test.intervention.kind is Purpose.CURE]
        if len(cured) < 2 or not self.is_virtual:
            return
        gone: dict[str, frozenset[str]] = {}
        for item, test in cured:
            number = min(test.finding.signs)
            if self._can_be_traced(test) and (changed := self._traced(test)) is not None:
                gone[item.cause] = frozenset(
                    other.finding.cause
                    for _, other in cured
                    if number in other.finding.signs
                    and is_gone(other.finding.signs[number], self._asked[other.finding.cause].cause.detect(changed))
                )
        follows = consequences(gone)
        titles = {item.cause: item.title for item in self._findings}
        self._findings = tuple(
            replace(item, follows=titles.get(follows.get(item.cause, ""), "")) for item in self._findings
        )

    def _spared(self, kind: Purpose) -> int:
        return sum(item.kind is kind for asked in self._asked.values() for item in asked.waiting)

    def _update_findings(self) -> None:
        """Judge all findings by the rounds that their tests were read in."""
        space, rounds = self._known(self._plan), self._rounds
        reading = RoundsReading(
            at_looks=len(self._looks) > 1,
            stopped={
                place: rounds[test.rounds_read - 1]
                for place, test in enumerate(self._tests)
                if test.rounds_read < len(rounds)
            },
            spared={kind: self._spared(kind) for kind in (Purpose.CURE, Purpose.TRANSPLANT)},
            untouched=frozenset(place for place, test in enumerate(self._tests) if test.left_untouched),
        )
        asked = self._asked
        judged = judge_findings(
            space,
            [one.finding for one in asked.values()],
            self._experiments,
            {name: one.refused for name, one in asked.items()},
            {name: one.cause for name, one in asked.items()},
            self.study.analysis,
            reading,
        )
        self._findings = tuple(replace(item, found_by=asked[item.cause].found_by) for item in judged)
        for item in self._findings:
            asked[item.cause].explained = item

    def _together(self) -> Together | None:
        """Run all that was confirmed at once, if it is several changes, and return what they close together.

        A cause that has no cure takes part by its transplant: then both arms are changed.
        """
        best = [found for item in self._findings if (found := _confirming(item, self._experiments)) is not None]
        labels = tuple(test.intervention.change.label for test, _ in best)
        if len(best) < 2:
            return Together(labels, best[0][1].share, best[0][1].closed, best[0][1].unit) if best else None
        alone, observer = self.begun(), self.place.observer
        arms = all_at_once(alone, [test for test, _ in best])
        if isinstance(arms, str):
            observer.say(f"the confirmed changes cannot be made together: {arms}")
            return None
        if self.left is not None and self.cost(alone) > self.left:
            observer.say(f"the budget of {self.place.budget} trials leaves none for the confirmed changes together")
            return None
        return together(self.run(alone), labels, arms, self.study.analysis)


class OverBudget(Untestable):
    """An intervention that the budget leaves no trials for."""


def _over_budget(asked: _Asked) -> bool:
    return any(isinstance(item, OverBudget) for item in asked.refused)


def _is_refuted(item: Explained | None, test: Experiment, tests: Sequence[Experiment]) -> bool:
    """Return whether a test, alone, says that its cause makes no difference."""
    kind = test.intervention.kind
    if item is None or kind is Purpose.DOSE:
        return False
    own = [one for one in tests if one.finding.cause == item.cause and one.intervention.kind is kind]
    judged = item.cures if kind is Purpose.CURE else item.transplants
    return kind is Purpose.CURE and judged[own.index(test)].conclusion is Conclusion.REFUTED


def _confirming(item: Explained, tests: Sequence[Experiment]) -> tuple[Experiment, Judged] | None:
    """Return the cure that confirmed a cause and closes most, else such a transplant; None if none did.

    Only a change of its mechanism confirms a cause.
    """
    if not item.is_confirmed:
        return None
    for kind, judged in ((Purpose.CURE, item.cures), (Purpose.TRANSPLANT, item.transplants)):
        best = strongest(direct(judged))
        if best is not None and best.conclusion is Conclusion.CONFIRMED:
            own = [test for test in tests if test.finding.cause == item.cause and test.intervention.kind is kind]
            return own[judged.index(best)], best
    return None


@dataclass(frozen=True)
class TracedChange:
    """Both arms of a round, changed as a test changes them (None: a load did not go well), and the trials' ids."""

    pair: Pair | None
    trials: frozenset[str]


def traced_change(study: Study, place: RunPlace, test: Experiment, pair: Pair, number: int) -> TracedChange:
    """Run a load of a change, of this number, with traces; return it beside the arm that stays.

    `pair` is the load without the change.
    """
    gap, engine = place.gap, place.options.engine.name
    plan = CounterfactualPlan(
        with_traces(study, gap), gap.contrast, gap.loser, place.only, engine=engine, tape=place.tape
    )
    arms = plan.add(dict.fromkeys(test.arms, test.intervention.change))
    if isinstance(arms, str):
        return TracedChange(None, frozenset())
    changed_loads = {own: plan.loads(arm)[number] for own, arm in arms.items()}
    trials = tuple(changed_loads.values())
    part = Plan(study.id, codec.content_hash([trial.id for trial in trials]), trials)
    folder, measured = measure_plan(plan.study, part, place.out / f"changed-{part.hash}", place.options, place.observer)
    well = {entry.trial.id for entry in measured if entry.run.outcome is Outcome.OK}
    sides: dict[str, Side | None] = {gap.loser: pair.loser, gap.winner: pair.winner}
    for own, trial in changed_loads.items():
        sides[own] = side_of(folder, trial, engine) if trial.id in well else None
    loser, winner = sides[gap.loser], sides[gap.winner]
    # A trace that contradicts itself is no witness.
    doubted = any(side is not None and side.doubts for side in (loser, winner))
    changed = None if loser is None or winner is None or doubted else Pair(loser, winner)
    return TracedChange(changed, frozenset(trial.id for trial in trials))
