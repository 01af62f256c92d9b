"""The trials of a study and their order: every arm of every cell once a round, randomised in blocks. Pure.

Rounds follow one another. Inside a round the cells come in random order, and in each cell of a round the arms run back
to back in random order. "Random" is the order of SHA-256 hashes of (seed, names). It is the same on every machine and
version of Python, and an addition to a study does not disturb the order or the ids of its other trials.

The draws of a round about its cell (`around`) change its trials, but neither the order nor the seeds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from longlook.core import (
    STATED,
    Capture,
    InputError,
    Level,
    Plan,
    Scalar,
    SettingError,
    Study,
    Trial,
    as_main,
    codec,
    nearest,
    stop_after_s,
)
from longlook.network import (
    NO_SURGERY,
    PREFIX,
    loses_at_random,
    loss_texts,
    surgery_text,
    with_losses,
    with_surgery,
    with_surgery_over,
    without_surgery,
)
from longlook.study.arms import ResolvedArm, resolve_arm
from longlook.study.catalogue import Catalogue, installed
from longlook.study.cells import cell_id, cells_named, cells_of, labels_of
from longlook.study.flow_groups import FlowGroup
from longlook.study.flow_groups import draw as draw_flows
from longlook.study.laws import rank
from longlook.study.neighbourhood import NOTHING_DRAWN, Draw, check_ends, neighbourhood
from longlook.study.resolve import Cell, Conditions, cell_settings, has_own_link, resolve_conditions, split_workload

MOST_TRIALS = 100_000
"""The trials of a plan that nobody has to ask for."""
MOST_TRIALS_ASKED_FOR = 1_000_000
"""The trials of any plan: it is held in memory."""


def make_plan(
    study: Study, only: Sequence[str] = (), catalogue: Catalogue | None = None, *, most: int = MOST_TRIALS
) -> Plan:
    """Return all trials of the study in the order in which they run.

    `only` are filters FACTOR=LEVEL: several of one factor are alternatives, filters of different factors must all hold.
    The name of a cell, in any form that `cells` lists, is a filter, too; several of these are alternatives.
    A filter changes neither ids nor the relative order of the trials that it leaves. If the study integrates losses,
    the plan begins with a trial of every arm at the stated point of each cell with random losses (`round` STATED).
    InputError for unknown names, and if there are more than `most` trials.
    """
    known = catalogue or installed()
    chosen = chosen_cells(study, only)
    refuse_more_than(most, study, len(chosen))
    planners = [_CellPlanner(study, cell, known) for cell in chosen]
    trials = [
        trial
        for number in range(study.rounds)
        for planner in sorted(planners, key=lambda planner: rank(study.seed, "cell", number, planner.key))
        for trial in planner.trials(number)
    ]
    if study.loss_strata:
        trials = [trial for planner in planners for trial in planner.stated()] + trials
    return Plan(study.id, codec.content_hash([trial.id for trial in trials]), tuple(trials))


def chosen_cells(study: Study, only: Sequence[str] = ()) -> Sequence[Cell]:
    """Return the cells that the filters leave, in the order of factors and levels; InputError if there is none."""
    wanted, named = _filters(study, only)
    chosen = [
        cell
        for cell in cells_of(study)
        if all(cell[name].label in labels for name, labels in wanted.items())
        and (not named or cell_id(labels_of(cell)) in named)
    ]
    if not chosen:
        raise InputError(f"no cell of study {study.id} has {' and '.join(only)}", "the study excludes this combination")
    return chosen


def count_trials(study: Study, chosen: int) -> int:
    """Return how many trials a plan of this number of cells has."""
    return chosen * len(study.arms) * study.rounds


def refuse_more_than(most: int, study: Study, chosen: int) -> None:
    """Raise InputError if this number of cells has more trials than `most`."""
    if (count := count_trials(study, chosen)) <= most:
        return
    product = f"{chosen} cells × {len(study.arms)} arms × {study.rounds} rounds = {count} trials"
    if most < MOST_TRIALS_ASKED_FOR >= count:
        hint = "longlook run takes them with --many; --only and --rounds make them fewer"
        raise InputError(f"study {study.id}: {product}, more than {most} must be asked for", hint)
    hint = "--only and --rounds make them fewer; several runs can be read together by longlook claims"
    raise InputError(f"study {study.id}: {product}; allowed: at most {MOST_TRIALS_ASKED_FOR}", hint)


@dataclass(frozen=True)
class _HashedArm:
    """An arm in a cell, with the hashes of its setup and of its settings of the measurement."""

    name: str
    arm: ResolvedArm
    setup_hash: str
    override_hashes: Sequence[str]

    @classmethod
    def of(cls, name: str, arm: ResolvedArm) -> "_HashedArm":
        """Return the arm with its hashes."""
        return cls(name, arm, codec.content_hash(arm.setup), _hashes_of_overrides(arm))


@dataclass(frozen=True)
class _RoundConditions:
    """All that applies to the trials of a round of a cell: the conditions of all arms, the arms, and what was drawn."""

    conditions: Conditions
    conditions_hash: str
    arms: Sequence[_HashedArm]
    draw: Draw

    @classmethod
    def of(cls, conditions: Conditions, arms: Sequence[_HashedArm], draw: Draw) -> "_RoundConditions":
        """Return them with the hash of the conditions."""
        return cls(conditions, codec.content_hash(conditions), arms, draw)


class _CellPlanner:
    """A cell made ready to give its trials of any round."""

    def __init__(self, study: Study, cell: Cell, catalogue: Catalogue) -> None:
        """Resolve the cell and its arms; InputError if they cannot be."""
        self._study, self._catalogue = study, catalogue
        self._labels = labels_of(cell)
        self._cell_id = cell_id(self._labels)
        self._capture_hash = codec.content_hash(_hashed_capture(study.capture))
        settings = cell_settings(study, cell)
        with self._named_in_errors():
            conditions = resolve_conditions(settings, catalogue)
            arms = {arm.name: resolve_arm(arm, settings, catalogue) for arm in study.arms}
            self._around = neighbourhood(study, settings, catalogue) if study.around else None
            # Where draws have to be cut, the router is asked about each; else it takes what lies between the ends.
            self._ask_router = self._around is not None and not check_ends(self._around, catalogue)
        self._as_stated = _RoundConditions.of(conditions, _hashed(arms), NOTHING_DRAWN)
        # Of the cell without draws and surgery, so that they change neither the order of a plan nor its links' seeds.
        self.key = codec.content_hash([codec.content_hash(_without_surgery(conditions)), _settings_of_levels(cell)])
        groups = any(arm.groups for arm in arms.values())
        own_links = any(has_own_link(arm) for arm in study.arms)
        self._draws_change_arms = own_links or (groups and self._around is not None and self._around.draws_workload)

    def trials(self, number: int) -> list[Trial]:
        """Return the cell's trials of a round, arms in random order; InputError if a draw cannot be."""
        return self._trials(number, self._in_round(number))

    def stated(self) -> list[Trial]:
        """Return the cell's trials at the point that the study states, arms in random order; none if none of its links
        loses packets at random.
        """
        trials = self._trials(STATED, self._as_stated)
        return trials if any(loses_at_random(link) for trial in trials for link in trial.links.values()) else []

    def _trials(self, number: int, here: _RoundConditions) -> list[Trial]:
        seed = rank(self._study.seed, "link", number, self.key)
        copies: dict[str, int] = {}
        trials = []
        for hashed in here.arms:
            arm = hashed.arm.in_round(self._study.seed, number)
            identity, identity_without_surgery = self._identities(here, hashed, arm, seed)
            # Arms that are alike (an A/A study) are still trials of their own.
            copy = copies.setdefault(identity, 0)
            copies[identity] += 1
            trials.append(
                self._trial(
                    here,
                    hashed.name,
                    arm,
                    number=number,
                    seed=seed,
                    trial_id=codec.content_hash([identity, copy]),
                    randomness_of=codec.content_hash([identity_without_surgery, copy])
                    if identity_without_surgery
                    else "",
                )
            )
        return sorted(trials, key=lambda trial: rank(self._study.seed, "arm", number, self.key, trial.arm))

    def _identities(
        self, here: _RoundConditions, hashed: _HashedArm, arm: ResolvedArm, seed: int
    ) -> tuple[str, str | None]:
        """Return the hash of all that determines a trial, and the same hash without surgery if the trial has any."""
        setup_hash = hashed.setup_hash if arm is hashed.arm else codec.content_hash(arm.setup)
        common = [setup_hash, seed, self._study.timeout_s, self._capture_hash]
        drawn = [codec.content_hash(["drawn", here.draw.drawn])] if here.draw.drawn else []
        identity = [here.conditions_hash, *common, *hashed.override_hashes, *drawn]
        calm = _hashes_without_surgery(here.conditions, arm)
        if calm is None:
            return codec.content_hash(identity), None
        conditions_hash, override_hashes = calm
        return codec.content_hash(identity), codec.content_hash([conditions_hash, *common, *override_hashes, *drawn])

    def _trial(
        self,
        here: _RoundConditions,
        name: str,
        arm: ResolvedArm,
        *,
        number: int,
        seed: int,
        trial_id: str,
        randomness_of: str,
    ) -> Trial:
        study, conditions, setup = self._study, here.conditions, arm.setup
        return Trial(
            id=trial_id,
            study=study.id,
            cell=self._labels,
            cell_id=self._cell_id,
            arm=name,
            round=number,
            seed=seed,
            link=arm.link or conditions.link,
            workload=split_workload(conditions.workload, arm.split),
            protocol=setup.protocol,
            connection=setup.connection,
            congestion_control=setup.congestion_control,
            server=setup.server,
            client=setup.client,
            timeout_s=study.timeout_s,
            capture=study.capture,
            engine=arm.engine,
            tcp=arm.tcp,
            client_cpu_share=arm.client_cpu_share,
            processors=arm.processors,
            flows=draw_flows(arm.groups, seed, stop_after_s(conditions.workload)),
            drawn=here.draw.drawn,
            start_phase_ns=here.draw.start_phase_ns,
            certificate_padding_bytes=here.draw.certificate_padding_bytes,
            randomness_of=randomness_of,
            further=arm.further or conditions.further,
            ip=conditions.ip if arm.ip is None else arm.ip,
            proxy=setup.proxy,
        )

    def _in_round(self, number: int) -> _RoundConditions:
        """Return what applies in a round: the cell as the study states it, with what the round draws."""
        if self._around is None:
            return self._as_stated
        stated = self._as_stated
        with self._named_in_errors(f", round {number + 1}"):
            workload = stated.conditions.workload
            draw, (conditions, arms) = self._around.draw(self._study.seed, number, self.key, workload, self._resolve)
        return _RoundConditions.of(conditions, stated.arms if arms is None else _hashed(arms), draw)

    def _resolve(self, settings: Mapping[str, Scalar]) -> tuple[Conditions, dict[str, ResolvedArm] | None]:
        """Return conditions and arms of drawn settings; no arms if they are the same as in the cell."""
        ask = self._ask_router
        conditions = resolve_conditions(settings, self._catalogue, ask_router=ask)
        if not self._draws_change_arms:
            return conditions, None
        arms = self._study.arms
        return conditions, {arm.name: resolve_arm(arm, settings, self._catalogue, ask_router=ask) for arm in arms}

    @contextmanager
    def _named_in_errors(self, more: str = "") -> Iterator[None]:
        """Name study and cell in the error of a setting."""
        try:
            yield
        except SettingError as error:
            raise InputError(f"study {self._study.id}, cell {self._cell_id}{more}: {error}") from error


def _hashed(arms: Mapping[str, ResolvedArm]) -> list[_HashedArm]:
    return [_HashedArm.of(name, arm) for name, arm in arms.items()]


def _hashes_of_overrides(arm: ResolvedArm) -> list[str]:
    """Return the hashes of the settings in which an arm differs from an ordinary one, which has none."""
    overrides = (
        *(("link", arm.link), ("engine", arm.engine), ("tcp", arm.tcp), ("client_cpu", arm.client_cpu_share)),
        *(("split", arm.split if arm.split > 1 else None), ("processors", arm.processors), ("further", arm.further)),
        ("flows", _encoded(arm.groups)),
        ("ip", "" if arm.ip is None else str(arm.ip or 4)),
    )
    return [codec.content_hash([name, value]) for name, value in overrides if value]


def _hashes_without_surgery(conditions: Conditions, arm: ResolvedArm) -> tuple[str, list[str]] | None:
    """Return the hashes of conditions and overrides of the same trial without surgery, or None if it has none."""
    link, further = arm.link or conditions.link, arm.further or conditions.further
    calm, calm_link = _without_surgery(conditions), without_surgery(link)
    calm_further = {name: without_surgery(each) for name, each in further.items()}
    if calm_link == link and calm_further == further:
        return None
    calm_arm = replace(
        arm,
        link=None if arm.link is None or calm_link == calm.link else calm_link,
        further={} if calm_further == calm.further else calm_further,
    )
    return codec.content_hash(calm), _hashes_of_overrides(calm_arm)


def _without_surgery(conditions: Conditions) -> Conditions:
    """Return conditions without surgery on any of their links."""
    further = {name: without_surgery(link) for name, link in conditions.further.items()}
    return replace(conditions, link=without_surgery(conditions.link), further=further)


def _encoded(groups: Sequence[FlowGroup]) -> list[dict[str, Any]]:
    """Return groups as they are hashed. `setup` goes by the name that it had when ids were first given."""
    return [
        {"contestant" if name == "setup" else name: value for name, value in codec.encode(group).items()}
        for group in groups
    ]


def _hashed_capture(capture: Capture) -> dict[str, bool]:
    """Return what is captured, for a trial's identity; later collectors count only if on, so that ids stay."""
    first = {"qlog", "keylog"}
    return {name: wanted for name, wanted in asdict(capture).items() if wanted or name in first}


def _settings_of_levels(cell: Mapping[str, Level]) -> dict[str, Scalar]:
    """Return the settings of the levels, without names and labels: a relabelled cell is the same cell.

    Surgery is left out: with it or without it, packets meet the same draws.
    """
    settings = (setting for level in cell.values() for setting in level.sets.items())
    return {key: value for key, value in settings if not as_main(key).startswith(PREFIX)}


def _filters(study: Study, only: Sequence[str]) -> tuple[dict[str, set[str]], set[str]]:
    """Return the levels of each factor, and the ids of cells, that filters choose; InputError for unknown names."""
    levels = {factor.name: [level.label for level in factor.levels] for factor in study.factors}
    wanted: dict[str, set[str]] = {}
    named: set[str] = set()
    for text in only:
        name, equals, label = text.partition("=")
        if equals and label in levels.get(name, []):
            wanted.setdefault(name, set()).add(label)
            continue
        matching = cells_named({cell_id(labels): labels for labels in map(labels_of, cells_of(study))}, text)
        if len(matching) == 1:
            named |= set(matching)
            continue
        if matching:
            raise InputError(
                f"--only {text}: fits several cells", f"write FACTOR=LEVEL, or one of {', '.join(matching)}"
            )
        if not equals:
            hint = f"factors of {study.id}: {', '.join(levels)}" if levels else f"{study.id} has one cell and no factor"
            raise InputError(f"--only {text}: neither FACTOR=LEVEL nor a cell", hint)
        if name not in levels:
            message = f"--only {text}: study {study.id} has no factor {name!r}{nearest(name, levels)}"
            raise InputError(message, f"its factors: {', '.join(levels)}")
        message = f"--only {text}: factor {name} has no level {label!r}{nearest(label, levels[name])}"
        raise InputError(message, f"its levels: {', '.join(levels[name])}")
    return wanted, named


def with_operations(trial: Trial, up: str, down: str) -> Trial:
    """Return the trial with operations on packets of each direction added to its own.

    They win over planned losses (`with_lost`), as they would over random ones.

    `up` and `down` are texts as of `network.surgery.up` and `network.surgery.down`; `off` and an empty text add
    nothing, and with both off the trial stays what it is. Otherwise it gets an id of its own, and keeps the link's seed
    and the programs' randomness: until its first consequence, both trials are the same to the nanosecond in virtual
    time. Raise SettingError, with the setting's key, if a text is wrong or contradicts the operations that are there.
    """
    up, down = up or NO_SURGERY, down or NO_SURGERY
    link = (with_surgery_over if trial.stratum else with_surgery)(trial.link, up, down)
    if link == trial.link:
        return trial
    texts = [surgery_text(up), surgery_text(down)]
    return replace(
        trial,
        id=codec.content_hash([trial.id, "surgery", texts]),
        link=link,
        randomness_of=trial.randomness_of or trial.id,
    )


def with_lost(trial: Trial, stratum: str, up: Iterable[int], down: Iterable[int]) -> Trial:
    """Return a trial of its own in which exactly the packets of these numbers are lost, in place of random ones.

    Its programs have the randomness of the trial that it is made from.
    """
    texts = loss_texts(trial.link, up, down)
    return replace(
        trial,
        id=codec.content_hash([trial.id, "lost", *texts]),
        link=with_losses(trial.link, *texts),
        stratum=stratum,
        randomness_of=trial.randomness_of or trial.id,
    )
