"""The trials of a study and their order: every arm of every cell once a round, randomised in blocks. Pure.

Rounds follow one another; inside a round the cells come in random order; inside a (round, cell) block the arms run
back to back in random order. "Random" is the order of SHA-256 hashes of (seed, names), so it is the same on every
machine and version of Python, and an addition to a study does not disturb the order or the ids of its other trials.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.flows import stop_after_s
from longlook.core.model import Capture, Level, Plan, Scalar, Study, Trial
from longlook.core.problems import SettingError
from longlook.core.registry import nearest
from longlook.study.arms import ResolvedArm, resolve_arm
from longlook.study.catalogue import Catalogue, installed
from longlook.study.cells import cell_id, cells, labels_of
from longlook.study.flow_groups import Group, draw
from longlook.study.resolve import Cell, Conditions, cell_settings, resolve_conditions
from longlook.study.seeded import rank


def make_plan(study: Study, only: Sequence[str] = (), catalogue: Catalogue | None = None) -> Plan:
    """Return all trials of the study in the order in which they run.

    `only` are filters FACTOR=LEVEL: several of one factor are alternatives, those of different factors must all hold.
    A filter changes neither ids nor the relative order of the trials that it leaves. InputError for unknown names.
    """
    known = catalogue or installed()
    wanted = _filters(study, only)
    chosen = [cell for cell in cells(study) if all(cell[name].label in labels for name, labels in wanted.items())]
    if not chosen:
        raise InputError(f"no cell of study {study.id} has {' and '.join(only)}", "the study excludes this combination")
    resolved = [_Block.resolve(study, cell, known) for cell in chosen]
    trials = [
        trial
        for number in range(study.rounds)
        for block in sorted(resolved, key=lambda block: rank(study.seed, "cell", number, block.key))
        for trial in block.trials(study, number)
    ]
    return Plan(study.id, codec.content_hash([trial.id for trial in trials]), tuple(trials))


class _Block:
    """A cell made ready to give its trials of any round."""

    def __init__(self, cell: Cell, conditions: Conditions, entries: Mapping[str, ResolvedArm]) -> None:
        self._labels = labels_of(cell)
        self._cell_id = cell_id(self._labels)
        self._conditions = conditions
        self._arms = [
            (arm, entry, [codec.content_hash(entry.setup), *_stated(entry)]) for arm, entry in entries.items()
        ]
        self._conditions_hash = codec.content_hash(conditions)
        self.key = codec.content_hash([self._conditions_hash, _sets(cell)])

    @classmethod
    def resolve(cls, study: Study, cell: Cell, catalogue: Catalogue) -> "_Block":
        settings = cell_settings(study, cell)
        try:
            conditions = resolve_conditions(settings, catalogue)
            entries = {arm.name: resolve_arm(arm, settings, catalogue) for arm in study.arms}
        except SettingError as error:
            raise InputError(f"study {study.id}, cell {cell_id(labels_of(cell))}: {error}") from error
        return cls(cell, conditions, entries)

    def trials(self, study: Study, number: int) -> list[Trial]:
        """Return the block's trials of a round, arms in random order."""
        seed = rank(study.seed, "link", number, self.key)
        seen: dict[str, int] = {}
        trials = []
        capture = codec.content_hash(_kept(study.capture))
        duration_s = stop_after_s(self._conditions.workload)
        for arm, entry, (setup_hash, *stated) in self._arms:
            setup, how = entry.setup, entry.circumstances
            identity = codec.content_hash([self._conditions_hash, setup_hash, seed, study.timeout_s, capture, *stated])
            # Arms that are alike (an A/A study) are still trials of their own.
            twin = seen.setdefault(identity, 0)
            seen[identity] += 1
            trials.append(
                Trial(
                    id=codec.content_hash([identity, twin]),
                    study=study.id,
                    cell=self._labels,
                    cell_id=self._cell_id,
                    arm=arm,
                    round=number,
                    seed=seed,
                    link=how.link or self._conditions.link,
                    workload=self._conditions.workload,
                    protocol=setup.protocol,
                    connection=setup.connection,
                    congestion_control=setup.congestion_control,
                    server=setup.server,
                    client=setup.client,
                    timeout_s=study.timeout_s,
                    capture=study.capture,
                    engine=how.engine,
                    tcp=how.tcp,
                    client_cpu_share=how.client_cpu_share,
                    flows=draw(entry.groups, seed, duration_s),
                )
            )
        return sorted(trials, key=lambda trial: rank(study.seed, "arm", number, self.key, trial.arm))


def _stated(entry: ResolvedArm) -> list[str]:
    """Return hashes of the circumstances in which a trial differs from an ordinary one, which has none."""
    how = entry.circumstances
    stated = (("link", how.link), ("engine", how.engine), ("tcp", how.tcp), ("client_cpu", how.client_cpu_share))
    return [
        codec.content_hash([name, value]) for name, value in (*stated, ("flows", _identity_of(entry.groups))) if value
    ]


def _identity_of(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return groups as they are hashed. `setup` goes by the name that it had when ids were first given."""
    return [
        {"contestant" if name == "setup" else name: value for name, value in codec.encode(group).items()}
        for group in groups
    ]


def _kept(capture: Capture) -> dict[str, bool]:
    """Return what is captured, for a trial's identity; later collectors count only if on, so that ids stay."""
    first = {"qlog", "keylog"}
    return {name: wanted for name, wanted in asdict(capture).items() if wanted or name in first}


def _sets(cell: Mapping[str, Level]) -> dict[str, Scalar]:
    """Return the settings of the levels, without names and labels: a relabelled cell is the same cell."""
    return {key: value for level in cell.values() for key, value in level.sets.items()}


def _filters(study: Study, only: Sequence[str]) -> dict[str, set[str]]:
    levels = {factor.name: [level.label for level in factor.levels] for factor in study.factors}
    wanted: dict[str, set[str]] = {}
    for text in only:
        name, equals, label = text.partition("=")
        if not equals:
            raise InputError(f"--only {text}: not FACTOR=LEVEL", f"factors of {study.id}: {', '.join(levels)}")
        if name not in levels:
            message = f"--only {text}: study {study.id} has no factor {name!r}{nearest(name, levels)}"
            raise InputError(message, f"its factors: {', '.join(levels)}")
        if label not in levels[name]:
            message = f"--only {text}: factor {name} has no level {label!r}{nearest(label, levels[name])}"
            raise InputError(message, f"its levels: {', '.join(levels[name])}")
        wanted.setdefault(name, set()).add(label)
    return wanted
