"""Findings → a study whose further arms are the counterfactuals: what was there, with one thing changed. Pure.

The arms of the cell stand in it as they were, so that their trials are the trials of the explained run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from longlook.analysis import laws_of
from longlook.core import Arm, Contrast, InputError, Plan, SettingError, Study, Trial, codec, link_of
from longlook.explain.cause import Change, Finding, Intervention, Surgery, Target, Untestable
from longlook.explain.tape import Tape
from longlook.network import loses_at_random
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
        tape: Tape | None = None,
    ) -> None:
        """Begin with both arms of the contrast in the cell that `only` (FACTOR=LEVEL) names, in all rounds of `study`.

        `loser` is one of the two, `engine` the name of what runs the trials that name none, `tape` has the loads of
        the rounds (None: each round is one).
        """
        self.tape = tape or Tape()
        self.loser = loser
        self.winner = contrast.baseline if loser == contrast.contender else contrast.contender
        self._only, self._catalogue, self._contrast, self._engine = only, catalogue, contrast, engine
        self._own = {arm.name: arm for arm in study.arms if arm.name in (self.loser, self.winner)}
        self._base = replace(
            study, arms=tuple(self._own.values()), contrasts=(contrast,), claims=(), stopping=None, loss_strata=False
        )
        self._loads = self.tape.of(self._planned(self._base).trials)
        self._trials = {trial.id: trial for loads in self._loads.values() for trial in loads.values()}
        self._arms = dict(self._own)
        self._pairs: dict[str, str] = {}
        self._of_settings: set[str] = set()

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
            planned = self._planned(changed)
            check_virtual(changed, planned, self._engine, self._catalogue)
            check_live(changed, planned, self._engine)
            if reason := self._other_losses(planned):
                return reason
            by_arm = self.tape.of(planned.trials)
            operated = {name: self._experiments(by_arm[arm.name], name, changes[name]) for name, arm in made.items()}
        except (InputError, SettingError) as error:
            return str(error)
        if all(_ids(loads) == _ids(self._own_part(name, loads)) for name, loads in operated.items()):
            return f"the arm is so already: {', '.join(change.label for change in changes.values())}"
        for name, loads in operated.items():
            same = next((arm for arm, own in self._loads.items() if _ids(own) == _ids(loads)), None)
            if same is not None:  # an arm that is there, as a rule the other one
                made[name] = self._arms[same]
                continue
            self._loads[made[name].name] = {
                number: self._trials.setdefault(trial.id, trial) for number, trial in loads.items()
            }
            if changes[name].settings:
                self._of_settings.add(made[name].name)
        self._arms |= {arm.name: arm for arm in made.values()}
        self._pairs |= {arm.name: name for name, arm in made.items() if arm.name not in self._own}
        return {name: arm.name for name, arm in made.items()}

    def _planned(self, study: Study) -> Plan:
        return make_plan(replace(study, loss_strata=self.tape.is_integrated), self._only, self._catalogue)

    def _other_losses(self, planned: Plan) -> str:
        """Return why a changed arm cannot stand beside integrated losses: it has others; "" if it has the same or
        none.
        """
        if self.tape.cell is None or self.tape.cell.laws is None:
            return ""
        lossy = [trial for trial in planned.trials if any(loses_at_random(link) for link in trial.links.values())]
        laws, own = laws_of(lossy, self._engine) if lossy else None, self.tape.cell.laws
        if isinstance(laws, str):
            return f"losses are integrated, and here they cannot be: {laws}"
        same = laws is None or (laws.up, laws.down) == (own.up, own.down)
        return "" if same else "losses are integrated, and here they have another law"

    def _experiments(self, loads: Mapping[int, Trial], arm: str, change: Change) -> dict[int, Trial]:
        """Return the loads of a changed arm, of which `arm` is replaced; a load that is an arm's already stays that
        arm's. Loads that are one trial stay one, unless surgery parts them.
        """
        known = dict(self._trials)
        found = {}
        for number, trial in loads.items():
            original, own = self._loads[arm][number], change.surgery.get(number)
            if own is not None:
                found[number] = _as_experiment(trial, own, original)
                continue
            if trial.id not in known:
                known[trial.id] = _as_experiment(trial, Surgery(), original)
            found[number] = known[trial.id]
        return found

    def _own_part(self, arm: str, loads: Mapping[int, Trial]) -> dict[int, Trial]:
        return {number: trial for number, trial in self._loads[arm].items() if number in loads}

    @property
    def arms(self) -> tuple[str, ...]:
        """Return the names of all arms with loads of their own, the arms of the cell first."""
        return tuple(self._loads)

    def loads(self, arm: str) -> Mapping[int, Trial]:
        """Return the trials of an arm by the number of their load (`Tape`); some may be another arm's, too."""
        return self._loads[arm]

    def replaced(self, arm: str) -> str:
        """Return the arm of the cell that a changed arm replaces; "" for an arm of the cell."""
        return self._pairs.get(arm, "")

    def has_own_settings(self, arm: str) -> bool:
        """Return whether an arm differs from the arm that it replaces by more than operations on packets."""
        return arm in self._of_settings

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


def _ids(loads: Mapping[int, Trial]) -> dict[int, str]:
    return {number: trial.id for number, trial in loads.items()}


def _as_experiment(trial: Trial, own: Surgery, original: Trial) -> Trial:
    """Return a load with surgery, and with the programs' randomness of the load that it changes.

    Its id covers all of that: nothing but the change differs from the original.
    """
    shared = replace(
        trial,
        id=codec.content_hash([trial.id, "randomness", original.id]),
        randomness_of=original.randomness_of or original.id,
    )
    return with_operations(shared, own.up, own.down)
