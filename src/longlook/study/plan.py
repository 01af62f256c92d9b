"""The trials of a study and their order: every arm of every cell once a round, randomised in blocks. Pure.

Rounds follow one another; inside a round the cells come in random order; inside a (round, cell) block the arms run
back to back in random order. "Random" is the order of SHA-256 hashes of (seed, names), so it is the same on every
machine and version of Python, and an addition to a study does not disturb the order or the ids of its other trials.

What a round draws about its cell (`around`) changes its trials, and neither the order nor the seeds.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.flows import stop_after_s
from longlook.core.links import as_main
from longlook.core.model import Capture, Level, Plan, Scalar, Study, Trial
from longlook.core.problems import SettingError
from longlook.core.registry import nearest
from longlook.network.surgery import PREFIX, without_surgery
from longlook.study.arms import ResolvedArm, resolve_arm
from longlook.study.around import Draw, check_ends, neighbourhood
from longlook.study.catalogue import Catalogue, installed
from longlook.study.cells import cell_id, cells, cells_named, labels_of
from longlook.study.flow_groups import Group
from longlook.study.flow_groups import draw as draw_flows
from longlook.study.resolve import Cell, Conditions, cell_settings, has_own_link, resolve_conditions, split_workload
from longlook.study.seeded import rank

MOST_TRIALS = 100_000
"""The trials of a plan that nobody has to ask for."""
MOST_TRIALS_ASKED_FOR = 1_000_000
"""The trials of any plan: it is held in memory."""


def make_plan(
    study: Study, only: Sequence[str] = (), catalogue: Catalogue | None = None, *, most: int = MOST_TRIALS
) -> Plan:
    """Return all trials of the study in the order in which they run.

    `only` are filters FACTOR=LEVEL: several of one factor are alternatives, those of different factors must all hold.
    The name of a cell, in any form that `cells` lists, is a filter, too; several of these are alternatives.
    A filter changes neither ids nor the relative order of the trials that it leaves. InputError for unknown names, and
    where there are more than `most` trials.
    """
    known = catalogue or installed()
    chosen = chosen_cells(study, only)
    refuse_more_than(most, study, len(chosen))
    resolved = [_Block(study, cell, known) for cell in chosen]
    trials = [
        trial
        for number in range(study.rounds)
        for block in sorted(resolved, key=lambda block: rank(study.seed, "cell", number, block.key))
        for trial in block.trials(number)
    ]
    return Plan(study.id, codec.content_hash([trial.id for trial in trials]), tuple(trials))


def chosen_cells(study: Study, only: Sequence[str] = ()) -> Sequence[Cell]:
    """Return the cells that the filters leave, in the order of factors and levels; InputError where there is none."""
    wanted, named = _filters(study, only)
    chosen = [
        cell
        for cell in cells(study)
        if all(cell[name].label in labels for name, labels in wanted.items())
        and (not named or cell_id(labels_of(cell)) in named)
    ]
    if not chosen:
        raise InputError(f"no cell of study {study.id} has {' and '.join(only)}", "the study excludes this combination")
    return chosen


def count_trials(study: Study, chosen: int) -> int:
    """Return how many trials a plan of so many cells has."""
    return chosen * len(study.arms) * study.rounds


def refuse_more_than(most: int, study: Study, chosen: int) -> None:
    """Raise InputError where so many cells have more trials than `most`."""
    if (count := count_trials(study, chosen)) <= most:
        return
    product = f"{chosen} cells × {len(study.arms)} arms × {study.rounds} rounds = {count} trials"
    if most < MOST_TRIALS_ASKED_FOR >= count:
        hint = "longlook run takes them with --many; --only and --rounds make them fewer"
        raise InputError(f"study {study.id}: {product}, more than {most} must be asked for", hint)
    hint = "--only and --rounds make them fewer; several runs can be read together by longlook claims"
    raise InputError(f"study {study.id}: {product}; allowed: at most {MOST_TRIALS_ASKED_FOR}", hint)


@dataclass(frozen=True)
class _Point:
    """The conditions of a cell, or of one of its rounds, and the arms in it; each arm with the hashes of its identity.

    The first hash is the setup's, the others those of circumstances.
    """

    conditions: Conditions
    arms: Sequence[tuple[str, ResolvedArm, Sequence[str]]]
    draw: Draw | None = None

    @classmethod
    def of(cls, conditions: Conditions, entries: Mapping[str, ResolvedArm], draw: Draw | None = None) -> "_Point":
        arms = [(name, entry, [codec.content_hash(entry.setup), *_stated(entry)]) for name, entry in entries.items()]
        return cls(conditions, arms, draw)


class _Block:
    """A cell made ready to give its trials of any round."""

    def __init__(self, study: Study, cell: Cell, catalogue: Catalogue) -> None:
        """Resolve the cell and its arms; InputError where they cannot be."""
        self._study, self._catalogue = study, catalogue
        self._labels = labels_of(cell)
        self._cell_id = cell_id(self._labels)
        self._capture = codec.content_hash(_kept(study.capture))
        settings = cell_settings(study, cell)
        with self._named():
            conditions = resolve_conditions(settings, catalogue)
            entries = {arm.name: resolve_arm(arm, settings, catalogue) for arm in study.arms}
            self._around = neighbourhood(study, settings, catalogue) if study.around else None
            # Where draws have to be cut, the router is asked about each; else it takes what lies between the ends.
            self._ask_router = self._around is not None and not check_ends(self._around, catalogue)
        self._point = _Point.of(conditions, entries)
        # Of the cell without draws and surgery, so that they change neither the order of a plan nor its links' seeds.
        undisturbed = _calm(conditions)
        self.key = codec.content_hash([codec.content_hash(undisturbed), _sets(cell)])
        groups = any(entry.groups for entry in entries.values())
        own_links = any(has_own_link(arm) for arm in study.arms)
        self._arms_follow = own_links or (groups and self._around is not None and self._around.draws_workload)

    def trials(self, number: int) -> list[Trial]:
        """Return the block's trials of a round, arms in random order; InputError where a draw cannot be."""
        study, point = self._study, self._at(number)
        seed = rank(study.seed, "link", number, self.key)
        seen: dict[str, int] = {}
        trials = []
        conditions, draw = point.conditions, point.draw
        conditions_hash = codec.content_hash(conditions)
        duration_s = stop_after_s(conditions.workload)
        drew = [codec.content_hash(["drawn", draw.drawn])] if draw is not None and draw.drawn else []
        for arm, resolved, (setup_hash, *stated) in point.arms:
            entry = resolved.in_round(study.seed, number)
            setup, how = entry.setup, entry.circumstances
            same = [
                setup_hash if entry is resolved else codec.content_hash(setup),
                seed,
                study.timeout_s,
                self._capture,
            ]
            identity = codec.content_hash([conditions_hash, *same, *stated, *drew])
            undisturbed = _without_surgery(conditions, entry)
            plain = undisturbed and codec.content_hash([undisturbed[0], *same, *undisturbed[1], *drew])
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
                    link=how.link or conditions.link,
                    workload=split_workload(conditions.workload, how.split),
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
                    processors=how.processors,
                    flows=draw_flows(entry.groups, seed, duration_s),
                    drawn=draw.drawn if draw is not None else {},
                    start_phase_ns=draw.start_phase_ns if draw is not None else 0,
                    certificate_padding_bytes=draw.certificate_padding_bytes if draw is not None else 0,
                    randomness_of=codec.content_hash([plain, twin]) if plain else "",
                    further=how.further or conditions.further,
                    proxy=setup.proxy,
                )
            )
        return sorted(trials, key=lambda trial: rank(study.seed, "arm", number, self.key, trial.arm))

    def _at(self, number: int) -> _Point:
        """Return the conditions that a round draws, with the arms in them; those of the cell where it draws nothing."""
        if self._around is None:
            return self._point
        with self._named(f", round {number + 1}"):
            workload = self._point.conditions.workload
            draw, (conditions, entries) = self._around.draw(self._study.seed, number, self.key, workload, self._resolve)
            if entries is None:
                return replace(self._point, conditions=conditions, draw=draw)
            return _Point.of(conditions, entries, draw)

    def _resolve(self, settings: Mapping[str, Scalar]) -> tuple[Conditions, dict[str, ResolvedArm] | None]:
        """Return conditions and arms of drawn settings; no arms where they are those of the cell."""
        ask = self._ask_router
        conditions = resolve_conditions(settings, self._catalogue, ask_router=ask)
        if not self._arms_follow:
            return conditions, None
        arms = self._study.arms
        return conditions, {arm.name: resolve_arm(arm, settings, self._catalogue, ask_router=ask) for arm in arms}

    @contextmanager
    def _named(self, more: str = "") -> Iterator[None]:
        """Name study and cell in the error of a setting."""
        try:
            yield
        except SettingError as error:
            raise InputError(f"study {self._study.id}, cell {self._cell_id}{more}: {error}") from error


def _stated(entry: ResolvedArm) -> list[str]:
    """Return hashes of the circumstances in which a trial differs from an ordinary one, which has none."""
    how = entry.circumstances
    split = how.split if how.split > 1 else None
    stated = (
        *(("link", how.link), ("engine", how.engine), ("tcp", how.tcp)),
        *(("client_cpu", how.client_cpu_share), ("split", split), ("processors", how.processors)),
        ("further", how.further),
    )
    return [
        codec.content_hash([name, value]) for name, value in (*stated, ("flows", _identity_of(entry.groups))) if value
    ]


def _without_surgery(conditions: Conditions, entry: ResolvedArm) -> tuple[str, list[str]] | None:
    """Return the hashes of conditions and circumstances of the same trial without surgery; None where it has none."""
    circumstances, common = entry.circumstances, _calm(conditions)
    own, further = circumstances.link, circumstances.further or conditions.further
    link = conditions.link if own is None else own
    plain = without_surgery(link)
    plain_further = {name: without_surgery(each) for name, each in further.items()}
    if plain == link and plain_further == further:
        return None
    how = replace(
        circumstances,
        link=None if own is None or plain == common.link else plain,
        further={} if plain_further == common.further else plain_further,
    )
    return codec.content_hash(common), _stated(replace(entry, circumstances=how))


def _calm(conditions: Conditions) -> Conditions:
    """Return conditions without surgery on any of their links."""
    further = {name: without_surgery(link) for name, link in conditions.further.items()}
    return replace(conditions, link=without_surgery(conditions.link), further=further)


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
        matching = cells_named({cell_id(labels): labels for labels in map(labels_of, cells(study))}, text)
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
