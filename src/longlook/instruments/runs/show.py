"""Runs on a terminal and as JSON."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.core import codec, print_bytes
from longlook.instruments.runs.listing import ListedRun, State
from longlook.instruments.runs.notes import Notes
from longlook.instruments.runs.stop import Stopped
from longlook.terminal import Renderings, Unwrapped

_STYLES = {State.RUNNING: "bold green", State.STOPPED: "yellow", State.NO_REPORT: "yellow", State.UNREADABLE: "red"}
_DIGITS = 16


def runs_shown(runs: Sequence[ListedRun], nothing: str) -> Renderings:
    """Return a line for each run; `nothing` is the sentence if there is none."""
    return Renderings(
        lambda: _people(runs, nothing),
        data=lambda: [_data(run) for run in runs],
        lines=lambda: [{"event": "run", **_data(run)} for run in runs],
    )


def _people(runs: Sequence[ListedRun], nothing: str) -> Iterator[RenderableType | Unwrapped]:
    if not runs:
        yield nothing
        return
    with_size = any(run.size_bytes is not None for run in runs)
    with_notes = any(run.notes.note or run.notes.tags for run in runs)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("run", "study", "began", "trials"):
        table.add_column(name, overflow="fold", justify="right" if name == "trials" else "left")
    table.add_column("verdicts", overflow="fold")
    table.add_column("results", no_wrap=True)
    if with_size:
        table.add_column("on disk", justify="right", no_wrap=True)
    if with_notes:
        table.add_column("note", overflow="fold")
    for run in runs:
        row = [
            Text(str(run.path)),
            Text(f"{run.study} {run.part}".strip()),
            Text(day(run.started_unix_s)),
            Text(_trials(run), _STYLES.get(run.state, "")),
            Text(run.reason, "red") if run.reason else Text(_verdicts(run)),
            Text(run.results[:_DIGITS] or "–"),
        ]
        row += [Text(print_bytes(run.size_bytes or 0))] if with_size else []
        row += [_noted(run.notes)] if with_notes else []
        table.add_row(*row)
    yield table
    if stopped := next((run for run in runs if run.state is State.STOPPED), None):
        yield f"go on with one that is stopped: longlook run {stopped.path} --resume {stopped.path}"


def stopped_shown(stopped: Stopped) -> Renderings:
    """Return what is left of a run that was stopped, and how to go on."""
    listed = stopped.listed
    data = {"run": str(stopped.run), "pid": stopped.pid, "go_on": stopped.go_on}
    if listed is None:
        text = f"{stopped.run}: stopped before it had a run folder"
        return Renderings(lambda: [text], lambda: {**data, "finished": 0, "trials": None})
    lines = [f"{stopped.run}: stopped; {listed.finished} of {listed.trials} trials are finished, and stay"]
    lines += [f"go on: {stopped.go_on}"] if stopped.go_on else []
    return Renderings(lambda: lines, lambda: {**data, "finished": listed.finished, "trials": listed.trials})


def day(unix_s: int | None) -> str:
    """Return a moment as local date and time."""
    return "–" if unix_s is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_s))


def _trials(run: ListedRun) -> str:
    if run.state is State.UNREADABLE:
        return str(run.state)
    if run.state is State.COMPLETE:
        return str(run.finished)
    return f"{run.finished} of {'?' if run.trials is None else run.trials}, {run.state}"


def _verdicts(run: ListedRun) -> str:
    """Return `4 better, 2 inconclusive`; behind the name of each contrast if there are several."""
    named = len(run.verdicts) > 1
    texts = []
    for contrast, counts in run.verdicts.items():
        text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        texts.append(f"{contrast}: {text}" if named else text)
    return "; ".join(texts) or "–"


def notes_shown(run: Path, notes: Notes) -> Renderings:
    """Return what is noted about a run now."""
    return Renderings(
        lambda: [Text.assemble(f"{run}: ", _noted(notes) if notes != Notes() else "nothing is noted")],
        lambda: {"run": str(run), **codec.encode(notes)},
    )


def _noted(notes: Notes) -> Text:
    tags = " ".join(f"#{tag}" for tag in notes.tags)
    return Text.assemble((tags, "cyan"), " " if tags and notes.note else "", notes.note)


def _data(run: ListedRun) -> dict[str, Any]:
    return {**codec.encode(run), "path": str(run.path)}
