"""The stage of strata: trials with planned losses in place of random ones, if losses can be integrated.

First every arm runs without loss at the stated point of each cell, then with single losses. These trials decide which
patterns of losses the rounds get (`analysis.strata_plan`). The plan of the run folder then has all of these trials, and
`strata.json` has the strata. All of it follows from the study, so that a stopped run goes on with its next trial.

Losses are integrated because the same losses give the same trial. So of each arm in each cell the trial without loss
and one with a single loss run again, without the cache, once in the life of a run folder. Both must repeat to the byte.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from longlook.analysis import (
    NONE,
    ONE,
    CellStrata,
    MeasuredAttempt,
    Packet,
    Traffic,
    is_point,
    laws_of,
    measure_trials,
    patterns,
    plan_strata,
    program_of,
    singles_to_try,
    why_too_many,
    with_repeats,
)
from longlook.core import (
    STATED,
    TIMELINE,
    InputError,
    Outcome,
    Plan,
    RunFolder,
    Trial,
    codec,
    files,
    find_metric,
    write_json,
)
from longlook.network import LossLaws
from longlook.pipeline.options import Observer
from longlook.run import Tally
from longlook.study import rank, with_lost
from longlook.timeline import Timeline

STRATA = "strata.json"

FEW_AT_A_GATE = 0.05
"""The share of its packets in a direction by which loads of nearly one program may differ, if a gate decides."""

Run = Callable[[Sequence[Trial]], None]

RunAgain = Callable[[Sequence[Trial]], Mapping[str, str]]
"""Trials → by the id of each what differed first when it ran again; "": nothing."""


def read_strata(folder: RunFolder) -> tuple[CellStrata, ...]:
    """Return the strata of a run's cells; none if the run's losses are not integrated.

    InputError if the file is missing, or is not what the run wrote.
    """
    if not folder.study.loss_strata:
        return ()
    hint = f"longlook run {folder.study.id} --resume {folder.path} makes it again"
    if (what := folder.broken(STRATA)) is not None:
        raise InputError(f"{folder.path}: {what} since the run wrote it", hint)
    try:
        data = files.read_json(folder.path / STRATA)
        return tuple(codec.decode(CellStrata, item) for item in data)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder.path / STRATA} cannot be read: {error}", hint) from error


def arrived_in(measured: Iterable[MeasuredAttempt]) -> dict[str, dict[str, int]]:
    """Return by trial how many packets came to its link in each direction, `up` and `down`."""
    return {
        entry.trial.id: {
            name: counters["arrived"] for name, counters in entry.run.link.items() if "arrived" in counters
        }
        for entry in measured
    }


def run_stated(
    plan: Plan, folder: RunFolder, tally: Tally, run: Run, run_again: RunAgain, engine: str, observer: Observer
) -> Plan:
    """Run the trials at the stated points of all cells; return the plan with them and with the patterns of all rounds.

    `engine` runs the trials that name none. A cell whose losses cannot be integrated keeps its ordinary rounds, and the
    observer hears why. The run folder gets this plan, too, and its strata.
    """
    stated: dict[str, list[Trial]] = {}
    rounds: dict[str, list[Trial]] = {}
    for trial in plan.trials:
        (stated if trial.round == STATED else rounds).setdefault(trial.cell_id, []).append(trial)
    compares = any(find_metric(name).compare is not None for name in folder.study.metrics)
    stopping = folder.study.stopping
    few = 0.0 if stopping is None or stopping.gate_pct is None else FEW_AT_A_GATE
    cells = {
        cell_id: _Cell(
            trials,
            rounds[cell_id],
            "a metric compares arms" if compares else laws_of([*trials, *rounds[cell_id]], engine),
            few,
        )
        for cell_id, trials in stated.items()
    }
    planned_rounds = sum(trial.round != STATED for trial in plan.trials)
    tally.leave_out(len(plan.trials) - planned_rounds)

    def try_all(trials: Iterable[Trial]) -> dict[str, "_Tried"]:
        chosen = list(trials)
        tally.leave_out(-len(chosen))
        run(chosen)
        return {
            entry.trial.id: _Tried.of(folder, entry.trial, entry.run.outcome, exact=entry.run.exact)
            for entry in measure_trials(folder, folder.study, chosen, lambda _done, _total: None)
        }

    calm = try_all(trial for cell in cells.values() for trial in cell.calm())
    singles = try_all(trial for cell in cells.values() for trial in cell.singles(calm))
    planned = {cell_id: cell.plan(calm, singles) for cell_id, cell in cells.items()}
    leaves = [
        trial
        for cell_id, cell in cells.items()
        if not planned[cell_id].why_sampled
        for trial in cell.leaves(folder.study.seed)
    ]
    repeated = _repeated_before(folder)
    repeated |= run_again([trial for trial in leaves if trial.id not in repeated])
    found = [
        with_repeats(cell, [trial for trial in leaves if trial.cell_id == cell.cell_id], repeated)
        for cell in planned.values()
    ]
    for cell in found:
        if cell.why_sampled:
            observer.say(f"losses are sampled in {cell.cell_id}: {cell.why_sampled}")
    kept = {cell.cell_id: cell for cell in found}
    trials = [trial for cell in cells.values() for trial in cell.ran if not kept[trial.cell_id].why_sampled]
    trials += _patterns(folder.study.seed, kept, [trial for trial in plan.trials if trial.round != STATED])
    tally.leave_out(planned_rounds - sum(trial.round != STATED for trial in trials))
    grown = Plan(plan.study, codec.content_hash([trial.id for trial in trials]), tuple(trials))
    write_json(folder.path / STRATA, codec.encode(found))
    folder.replan(grown)
    folder.seal([STRATA])
    return grown


def _repeated_before(folder: RunFolder) -> dict[str, str]:
    """Return the trials that earlier sessions of a run ran again, with what differed."""
    try:
        return {name: what for cell in read_strata(folder) for name, what in cell.repeated.items()}
    except InputError:  # the first session, or a file that is made again
        return {}


def _patterns(seed: int, cells: Mapping[str, CellStrata], rounds: Sequence[Trial]) -> list[Trial]:
    """Return the trials of all rounds in the order of the plan, each in the patterns that its cell has in its round."""
    drawn: dict[tuple[str, int], list[tuple[str, dict[str, list[int]]]]] = {}
    trials = []
    for trial in rounds:
        cell, key = cells.get(trial.cell_id), (trial.cell_id, trial.round)
        if cell is None or cell.why_sampled:
            trials.append(trial)
            continue
        if key not in drawn:
            drawn[key] = [
                (pattern.stratum, _by_direction(pattern.lost))
                for pattern in patterns(cell, seed, trial.cell_id, trial.round)
            ]
        trials += [with_lost(trial, stratum, lost["up"], lost["down"]) for stratum, lost in drawn[key]]
    return list({trial.id: trial for trial in trials}.values())  # two draws of a round may be one pattern


def _by_direction(packets: Iterable[Packet]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {"up": [], "down": []}
    for direction, number in packets:
        found[direction].append(number)
    return found


@dataclass(frozen=True)
class _Tried:
    """A trial at a stated point: its traffic, or why it says nothing."""

    traffic: Traffic | None
    problem: str

    @classmethod
    def of(cls, folder: RunFolder, trial: Trial, outcome: Outcome, *, exact: bool) -> "_Tried":
        if not exact:
            return cls(None, "its programs do not repeat exactly")
        if outcome is not Outcome.OK:
            return cls(None, f"a load without random losses ended {outcome}")
        traffic = Traffic.of(Timeline.read(folder.trials / trial.id / TIMELINE))
        return cls(traffic, "" if traffic else "the link's log does not number all packets")


class _Cell:
    """The stated trials of a cell, one for each arm, and what became of them."""

    def __init__(
        self, stated: Sequence[Trial], rounds: Sequence[Trial], laws: LossLaws | str, few: float = 0.0
    ) -> None:
        self._stated, self._rounds, self._laws, self._few = stated, rounds, laws, few
        self.ran: list[Trial] = []
        self._single: dict[str, dict[Packet, Trial]] = {}

    def calm(self) -> list[Trial]:
        """Return a trial of each arm without any loss; none if the losses are not integrated."""
        if isinstance(self._laws, str):
            return []
        self.ran = [with_lost(trial, NONE, (), ()) for trial in self._stated]
        return list(self.ran)

    def singles(self, calm: Mapping[str, _Tried]) -> list[Trial]:
        """Return the trials of each arm with a single loss."""
        if isinstance(self._laws, str) or any(calm[trial.id].problem for trial in self.ran):
            return []
        if why_too_many((_load(calm[trial.id]) for trial in self.ran), self._laws):
            return []
        point = is_point(self._rounds[0], self._laws)
        for stated, without_loss in zip(self._stated, list(self.ran), strict=True):
            load = _load(calm[without_loss.id])
            self._single[stated.arm] = {
                packet: with_lost(stated, ONE, *_by_direction([packet]).values())
                for packet in singles_to_try(load, self._laws, point=point)
            }
        self.ran += [trial for trials in self._single.values() for trial in trials.values()]
        return [trial for trials in self._single.values() for trial in trials.values()]

    def leaves(self, seed: int) -> list[Trial]:
        """Return the trials that run again: of each arm the one without loss, and one with a single loss."""
        found = []
        for calm, (arm, singles) in zip(self.ran, self._single.items(), strict=False):
            found.append(calm)
            ordered = list(singles.values())
            found += [ordered[rank(seed, "again", calm.cell_id, arm) % len(ordered)]] if ordered else []
        return found

    def plan(self, calm: Mapping[str, _Tried], singles: Mapping[str, _Tried]) -> CellStrata:
        """Return the strata, or why the cell is sampled."""
        cell_id = self._stated[0].cell_id
        if isinstance(self._laws, str):
            return CellStrata(cell_id, self._laws)
        without_loss = {trial.arm: calm[trial.id] for trial in self.ran if trial.id in calm}
        if problems := [f"arm {arm}: {tried.problem}" for arm, tried in without_loss.items() if tried.problem]:
            return CellStrata(cell_id, problems[0])  # no single loss was tried
        if too_many := why_too_many(map(_load, without_loss.values()), self._laws):
            return CellStrata(cell_id, too_many)  # nor here
        for arm, tried in without_loss.items():
            for packet, trial in self._single[arm].items():
                other = singles[trial.id].traffic
                if problem := singles[trial.id].problem:
                    return CellStrata(cell_id, f"arm {arm} without its packet {packet[0]} {packet[1]}: {problem}")
                if other is not None and tried.traffic is not None and not tried.traffic.repeats_until(packet, other):
                    packet_name = f"{packet[0]} {packet[1]}"
                    return CellStrata(
                        cell_id, f"arm {arm} is not deterministic: it differed before its packet {packet_name} was lost"
                    )
        loads = {arm: _load(tried) for arm, tried in without_loss.items()}
        own = {trial.id for trials in self._single.values() for trial in trials.values()}
        others = [_load(tried) for name, tried in singles.items() if name in own and tried.traffic is not None]
        point = is_point(self._rounds[0], self._laws)
        return plan_strata(
            cell_id, self._laws, loads, others, nearly_one_program(self._stated, loads, self._few), point=point
        )


def _load(tried: _Tried) -> list[Packet]:
    return tried.traffic.load() if tried.traffic is not None else []


def nearly_one_program(
    stated: Iterable[Trial], loads: Mapping[str, Sequence[Packet]], few: float = 0.0
) -> dict[str, str]:
    """Return a name for each arm with nearly the same programs as another one: the first of these arms.

    `stated` has a trial of each arm, and `loads` the packets of each without loss. Such arms have the same programs,
    except for versions and knobs, and as many packets in each direction, except for the share `few`.
    """
    groups: list[tuple[object, tuple[int, int], list[str]]] = []
    for trial in stated:
        *kind, up, down = program_of(trial, loads[trial.arm])
        counts = (up, down)
        for other, first, arms in groups:
            if other == kind and all(abs(a - b) <= few * a for a, b in zip(first, counts, strict=True)):
                arms.append(trial.arm)
                break
        else:
            groups.append((kind, counts, [trial.arm]))
    return {arm: arms[0] for _, _, arms in groups if len(arms) > 1 for arm in arms}
