"""Findings → a study whose further arms are the counterfactuals: what was there, with one thing changed. Pure.

The arms of the cell stand in it as they were, so that their trials are the trials of the explained run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from longlook.core import Arm, Contrast, InputError, Plan, SettingError, Study, Trial, codec, link_of
from longlook.explain.cause import Change, Finding, Intervention, Surgery, Target, Untestable
from longlook.study import (
    VIRTUAL,
    Catalogue,
    check_live,
    check_virtual,
    endpoint_setting,
    flow_setting,
    is_flow_setting,
    make_plan,
    network_setting,
    with_operations,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Experiment:
    """An intervention of a finding, with the arms in which it is made: by the arm of the cell that each replaces."""

    finding: Finding
    intervention: Intervention
    arms: Mapping[str, str]  # arm of the cell → arm of the counterfactual

    @property
    def trials_per_round(self) -> int:
        """Return how many trials a round of it takes."""
        return len(self.arms)


class CounterfactualPlan:
    """A study and plan that grow by one change after another; the arms of the cell stand in them as they were."""

    def __init__(
        self,
        study: Study,
        contrast: Contrast,
        loser: str,
        only: Sequence[str],
        catalogue: Catalogue | None = None,
        engine: str = VIRTUAL,
    ) -> None:
        """Begin with both arms of the contrast in the cell that `only` (FACTOR=LEVEL) names, in all rounds of `study`.

        `loser` is one of the two, `engine` the name of what runs the trials that name none.
        """
        self.loser = loser
        self.winner = contrast.baseline if loser == contrast.contender else contrast.contender
        self._only, self._catalogue, self._contrast, self._engine = only, catalogue, contrast, engine
        self._own = {arm.name: arm for arm in study.arms if arm.name in (self.loser, self.winner)}
        self._base = replace(
            study, arms=tuple(self._own.values()), contrasts=(contrast,), claims=(), stopping=None, loss_strata=False
        )
        self._trials = {trial.id: trial for trial in make_plan(self._base, only, catalogue).trials}
        self._arms = dict(self._own)
        self._pairs: dict[str, str] = {}
        self._owned: dict[str, dict[int, str]] = {}

    def add(self, changes: Mapping[str, Change]) -> dict[str, str] | str:
        """Plan a change of each arm that is named; return the arms that have it by the arms that they replace.

        A text is the reason why there is none: settings that cannot be, that the engine cannot make, or that the arm
        has already.
        """
        made = {name: _changed(self._own[name], change) for name, change in changes.items()}
        try:
            for change in changes.values():
                _check_settings(change)
            changed = replace(self._base, arms=tuple(made.values()))
            planned = make_plan(changed, self._only, self._catalogue)
            check_virtual(changed, planned, self._engine, self._catalogue)
            check_live(changed, planned, self._engine)
            operated = self._experiments(planned.trials, {made[name].name: name for name in made}, changes)
        except (InputError, SettingError) as error:
            return str(error)
        owners = {trial.id: trial.arm for trial in self._trials.values()}
        shared = {name: self._shared(arm.name, operated, owners) for name, arm in made.items()}
        rounds = len({trial.round for trial in operated})
        if all(list(owned.values()) == [name] * rounds for name, owned in shared.items()):
            return f"the arm is so already: {', '.join(change.label for change in changes.values())}"
        for name, owned in shared.items():
            if len(owned) == rounds and len(set(owned.values())) == 1:  # an arm that is there, as a rule the other one
                made[name] = self._arms[owned[next(iter(owned))]]
            else:
                self._owned[made[name].name] = owned
        self._trials |= {trial.id: trial for trial in operated if trial.id not in self._trials}
        self._arms |= {arm.name: arm for arm in made.values()}
        self._pairs |= {arm.name: name for name, arm in made.items() if arm.name not in self._own}
        return {name: arm.name for name, arm in made.items()}

    def _experiments(
        self, trials: Sequence[Trial], replaced: Mapping[str, str], changes: Mapping[str, Change]
    ) -> list[Trial]:
        """Return the trials of changed arms; a trial that is an arm's already stays that arm's."""
        originals = {(trial.arm, trial.round): trial for trial in self._trials.values()}
        found = []
        for trial in trials:
            name = replaced[trial.arm]
            surgery = changes[name].surgery
            as_it_is = trial.id in self._trials and trial.round not in surgery
            found.append(trial if as_it_is else _as_experiment(trial, surgery, originals[name, trial.round]))
        return found

    @staticmethod
    def _shared(arm: str, trials: Sequence[Trial], owners: Mapping[str, str]) -> dict[int, str]:
        """Return the arms that have a trial of this arm already, by round: surgery is for some rounds alone."""
        return {trial.round: owners[trial.id] for trial in trials if trial.arm == arm and trial.id in owners}

    def completed(self, values: Mapping[str, Mapping[int, T]]) -> dict[str, dict[int, T]]:
        """Return what is known by arm and round, and fill in rounds in which an arm's trial is another arm's."""
        found = {arm: dict(own) for arm, own in values.items()}
        for arm, owned in self._owned.items():
            for number, owner in owned.items():
                if number in values.get(owner, {}):
                    found.setdefault(arm, {})[number] = values[owner][number]
        return found

    def sources(self, arm: str) -> frozenset[str]:
        """Return the arms whose trials an arm's values come from: itself, and arms that have some of its trials."""
        return frozenset((arm, *self._owned.get(arm, {}).values()))

    def targets(self, target: Target) -> tuple[str, ...]:
        """Return the arms that a target means."""
        named = {Target.LOSER: (self.loser,), Target.WINNER: (self.winner,), Target.BOTH: (self.loser, self.winner)}
        return named[target]

    @property
    def study(self) -> Study:
        """Return the study with an arm for each change, and a contrast of each with the arm that it replaces."""
        contrasts = [Contrast(new, old, new, self._contrast.metric) for new, old in self._pairs.items()]
        return replace(self._base, arms=tuple(self._arms.values()), contrasts=(self._contrast, *contrasts))

    @property
    def plan(self) -> Plan:
        """Return all trials so far."""
        return Plan(self._base.id, codec.content_hash(list(self._trials)), tuple(self._trials.values()))


def add_tests(
    plan: CounterfactualPlan, suspected: Iterable[tuple[Finding, Sequence[Intervention | Untestable]]]
) -> tuple[list[Experiment], dict[str, list[Untestable]]]:
    """Add every intervention that can be made to the plan; return the tests, and by cause what cannot be made."""
    tests: list[Experiment] = []
    refused: dict[str, list[Untestable]] = {}
    for finding, interventions in suspected:
        reasons = refused.setdefault(finding.cause, [])
        for item in interventions:
            if isinstance(item, Untestable):
                reasons.append(item)
                continue
            arms = plan.add(dict.fromkeys(plan.targets(item.target), item.change))
            if isinstance(arms, str):
                reasons.append(Untestable(item.kind, arms))
            else:
                tests.append(Experiment(finding, item, arms))
    return tests, refused


def all_at_once(plan: CounterfactualPlan, tests: Sequence[Experiment]) -> dict[str, str] | str:
    """Add all changes of some tests together, each to the arms that it is for; return what `add` returns.

    If two set the same, the first of `tests` wins; operations on packets of one round are all made.
    """
    changes: dict[str, Change] = {}
    for arm in (plan.loser, plan.winner):
        own = [test.intervention.change for test in tests if arm in test.arms]
        if own:
            settings = {key: value for change in reversed(own) for key, value in change.settings.items()}
            surgery = {
                number: _joined([change.surgery[number] for change in own if number in change.surgery])
                for number in sorted({number for change in own for number in change.surgery})
            }
            changes[arm] = Change(" and ".join(change.label for change in own), settings, surgery)
    return plan.add(changes)


def _joined(operations: Sequence[Surgery]) -> Surgery:
    up, down = (
        "; ".join(dict.fromkeys(text for each in operations if (text := getattr(each, way)))) for way in ("up", "down")
    )
    return Surgery(up, down)


def _check_settings(change: Change) -> None:
    """Raise SettingError if a study file could not make a setting: unknown ones would change nothing unnoticed."""
    for key, value in change.settings.items():
        if is_flow_setting(key):
            flow_setting(key, value)
        elif key.startswith("network.") or link_of(key):
            network_setting(key, value)
        else:
            endpoint_setting(key, value)


def _changed(arm: Arm, change: Change) -> Arm:
    """Return the arm with the change laid over its own settings; causes that change the same share it."""
    name = f"{arm.name}~{codec.content_hash([change.settings, change.surgery], 8)}"
    return Arm(name, f"{arm.label}, {change.label}", {**arm.settings, **change.settings})


def _as_experiment(trial: Trial, surgery: Mapping[int, Surgery], original: Trial) -> Trial:
    """Return the trial with the surgery of its round, and with the programs' randomness of the trial that it changes.

    Its id covers all of that: nothing but the change differs from the original.
    """
    own = surgery.get(trial.round, Surgery())
    shared = replace(trial, id=codec.content_hash([trial.id, "randomness", original.id]), randomness_of=original.id)
    return with_operations(shared, own.up, own.down)
