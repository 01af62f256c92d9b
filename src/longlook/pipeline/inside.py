"""Pages about the inside of cells of a run folder: the trials are chosen, read, and looked into."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from longlook.core import (
    EVENTS,
    STATES,
    TIMELINE,
    InputError,
    LonglookError,
    Outcome,
    Run,
    RunFolder,
    Trial,
    files,
)
from longlook.explain import (
    COLUMNS,
    Inside,
    MachineInference,
    Round,
    StateTimes,
    Wanted,
    choose_round,
    diff,
    find_cells,
    look_inside,
    look_into_flows,
    make_ledger,
    state_traces,
    time_in_states,
)
from longlook.explain import Machine as StateMachine
from longlook.report import DrawnMachine, InsideContent, ReportContent, draw, draw_diff, flow_colours, write_inside
from longlook.study import VIRTUAL
from longlook.timeline import Collected, Doubt, Events, Timeline, collector_costs, doubts_of, metadata_of, trace_sizes


def write_inside_pages(
    folder: RunFolder, content: ReportContent, wanted: Wanted, say: Callable[[str], None]
) -> list[Path]:
    """Write the pages of the wanted cells and return them in the order of the plan."""
    trials = folder.plan.trials
    pages = []
    for cell_id in find_cells(trials, wanted.cells):
        chosen = (
            choose_round(content.samples, content.study, cell_id)
            if wanted.round is None
            else Round(wanted.round, content.study.rounds)
        )
        say(f"inside {cell_id}: round {chosen.number + 1}")
        own = [trial for trial in trials if trial.cell_id == cell_id]
        pages.append(write_inside(folder.path / "report", _content(folder, content, own, chosen)))
    return pages


def _content(folder: RunFolder, content: ReportContent, trials: list[Trial], chosen: Round) -> InsideContent:
    arms: dict[str, Inside] = {}
    runs: dict[str, Run] = {}
    absent = []
    order = [arm.name for arm in content.study.arms]
    # Of several patterns of losses that a round has, the first one: without loss, if the round runs such a load.
    of_round = list({trial.arm: trial for trial in reversed(trials) if trial.round == chosen.number}.values())
    if not of_round:
        rounds = len({trial.round for trial in trials})
        raise InputError(f"--round {chosen.number + 1}: cell {trials[0].cell_id} has {rounds} rounds", f"1 to {rounds}")
    for trial in sorted(of_round, key=lambda trial: order.index(trial.arm)):
        run = folder.result(trial.id)
        if run is None or run.outcome is not Outcome.OK:
            absent.append((trial.arm, "its trial has not run" if run is None else f"{run.outcome}: {run.reason}"))
            continue
        runs[trial.arm] = run
        arms[trial.arm] = _look(folder.trials / trial.id, trial, run)
    if not arms:
        reasons = "; ".join(f"{arm}: {reason}" for arm, reason in absent)
        raise InputError(f"round {chosen.number + 1} of cell {trials[0].cell_id} has no good trial ({reasons})")
    machines, remarks = _machines(folder, content, trials, chosen, arms)
    flows = _flows(folder, content, of_round, arms)
    return InsideContent(
        content=content,
        cell_id=trials[0].cell_id,
        cell=trials[0].cell,
        round=chosen,
        arms={**{arm: inside for arm, inside in arms.items() if arm not in flows.arms}, **flows.inside},
        flows=flows.colours,
        behind=flows.behind,
        runs=runs,
        absent=absent,
        remarks=[*_unrecorded(runs), *remarks],
        states=_states(folder, content, trials[0].cell_id, chosen, arms),
        machines=machines,
        costs=collector_costs(collected(folder, trials), order),
    )


def collected(folder: RunFolder, trials: Iterable[Trial]) -> list[Collected]:
    """Return what the trials that went well collected, with its sizes."""
    runs = ((trial, folder.result(trial.id)) for trial in trials)
    return [
        Collected(trial.arm, run, trace_sizes(folder.trials / trial.id), _doubts(folder.trials / trial.id / EVENTS))
        for trial, run in runs
        if run is not None and run.outcome is Outcome.OK
    ]


def _doubts(events: Path) -> tuple[Doubt, ...]:
    return doubts_of(metadata_of(events)) if events.is_file() else ()


def _look(path: Path, trial: Trial, run: Run) -> Inside:
    timeline, events = _read(path)
    known = timeline if events is None else timeline.with_events(events)
    return look_inside(timeline, events, ledger=make_ledger(known, trial, live=run.engine != VIRTUAL))


def _read(trial: Path) -> tuple[Timeline, Events | None]:
    events = trial / EVENTS
    return Timeline.read(trial / TIMELINE), Events.read(events) if events.exists() else None


@dataclass(frozen=True)
class _Flows:
    """Competing flows in place of the arms that they belong to, by names of both."""

    arms: frozenset[str]
    inside: Mapping[str, Inside]
    colours: Mapping[str, str]
    behind: frozenset[str]  # of other arms than the first, for the reader to turn on


def _flows(folder: RunFolder, content: ReportContent, trials: list[Trial], arms: Mapping[str, Inside]) -> _Flows:
    inside: dict[str, Inside] = {}
    colours: dict[str, str] = {}
    behind: list[str] = []
    split: list[str] = []
    for arm in arms:
        trial = next(trial for trial in trials if trial.arm == arm)
        found = look_into_flows(*_read(folder.trials / trial.id))
        names = {flow: f"{content.short_label(arm)}: {flow}" for flow in found}
        groups: dict[str, list[str]] = {}
        for flow, (group, _) in found.items():
            groups.setdefault(group, []).append(names[flow])
        inside |= {names[flow]: own for flow, (_, own) in found.items()}
        colours |= flow_colours(groups, ())
        behind += names.values() if split else ()
        split += [arm] if found else []
    return _Flows(frozenset(split), inside, colours, frozenset(behind))


def _states(
    folder: RunFolder, content: ReportContent, cell_id: str, chosen: Round, arms: Mapping[str, Inside]
) -> StateTimes | None:
    path = folder.path / STATES
    if not path.exists():
        return None
    contrast = chosen.contrast or next(iter(content.study.contrasts), None)
    analysis = content.study.analysis
    return time_in_states(
        pd.read_parquet(files.regular(path)),
        cell_id,
        [arm.name for arm in content.study.arms],
        contrast,
        vantage=str(next(iter(arms.values())).vantage),
        confidence=analysis.confidence,
        correction=analysis.correction,
    )


def _unrecorded(runs: Mapping[str, Run]) -> Iterator[tuple[str, str]]:
    """Yield the collectors that did not work, and why."""
    for arm, run in runs.items():
        for collector, why in sorted(run.collectors.items()):
            if why:
                yield arm, f"{collector.replace('_', ' ')} not recorded: {why}"


def _machines(
    folder: RunFolder, content: ReportContent, trials: list[Trial], chosen: Round, arms: Mapping[str, Inside]
) -> tuple[list[DrawnMachine], list[tuple[str, str]]]:
    """Infer each arm's machine over all rounds of the cell, and the difference of the contrast's two arms."""
    found: dict[str, StateMachine] = {}
    remarks: list[tuple[str, str]] = []
    for arm, inside in arms.items():
        own = [(trial.id, folder.trials / trial.id / EVENTS) for trial in trials if trial.arm == arm]
        known = ((trial_id, Events.read(path, COLUMNS)) for trial_id, path in own if path.exists())
        if not (traces := state_traces(known, inside.vantage)):
            continue
        try:
            found[arm] = MachineInference().fit(traces).machine_
        except LonglookError as error:
            remarks.append((arm, f"no state machine: {error.message}"))
    names = {arm: content.short_label(arm) for arm in found}
    machines = [DrawnMachine(names[arm], draw(machine, names[arm])) for arm, machine in found.items()]
    contrast = chosen.contrast or next(iter(content.study.contrasts), None)
    if contrast is not None and {contrast.baseline, contrast.contender} <= found.keys():
        a, b = contrast.baseline, contrast.contender
        both = diff(found[a], found[b], names[a], names[b], content.study.analysis.alpha)
        machines.append(DrawnMachine(f"{names[a]} and {names[b]} as one", draw_diff(both)))
    return machines, remarks
