"""A run of another process on a terminal, in a pipe or as JSON lines, until it ends."""

import time
from collections.abc import Callable

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from longlook.core import InterruptedByUserError, LonglookError
from longlook.instruments.runs.listing import ListedRun, State
from longlook.instruments.runs.progress import Follower, Seen, Stage
from longlook.instruments.runs.show import runs_shown
from longlook.terminal import Printer, TimeLeft, duration, quoted

_LOOKS_EVERY_S = 1.0
_SAYS_EVERY_S = 5.0


def watch(follower: Follower, printer: Printer, seen_by: Callable[[Seen], None] = lambda _seen: None) -> ListedRun:
    """Show a run until it has ended, and return what became of it. `seen_by` gets every look.

    LonglookError if its trials are not all finished then; InterruptedByUserError after Ctrl-C, which leaves the run
    alone.
    """
    try:
        seen = _follow(follower, printer, seen_by)
    except KeyboardInterrupt as error:
        hint = f"look again: longlook watch {quoted(follower.run)}; end it: longlook stop {quoted(follower.run)}"
        raise InterruptedByUserError("not watched any more; the run goes on", hint) from error
    if seen.listed is None:
        raise LonglookError(f"{follower.run}: the run ended before its first trial", "its log is beside it")
    printer.show(runs_shown([seen.listed], ""))
    if seen.listed.state not in (State.COMPLETE, State.NO_REPORT):
        run = quoted(follower.run)
        hint = f"go on: longlook run {run} --resume {run}"
        raise LonglookError(f"{follower.run} has ended at {seen.finished} of {seen.planned} trials", hint)
    return seen.listed


def _follow(follower: Follower, printer: Printer, seen_by: Callable[[Seen], None]) -> Seen:
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeLeft(),
        console=printer.bars,
        disable=printer.bars is None,
    )
    task = bars.add_task("", total=None)
    said_at, said = 0.0, ""
    with bars:
        while True:
            seen = follower.look()
            seen_by(seen)
            if seen.stage is Stage.ENDED:
                return seen
            bars.update(task, description=seen.stage, total=seen.planned, completed=seen.finished, left_s=seen.left_s)
            if bars.disable and (text := _text(seen)) != said and time.monotonic() - said_at >= _SAYS_EVERY_S:
                said_at, said = time.monotonic(), text
                printer.report(
                    text,
                    event="progress",
                    stage=str(seen.stage),
                    finished=seen.finished,
                    planned=seen.planned,
                    left_s=None if seen.left_s is None else round(seen.left_s, 1),
                )
            time.sleep(_LOOKS_EVERY_S)


def _text(seen: Seen) -> str:
    return in_words(seen) + ("" if seen.left_s is None else f", about {duration(seen.left_s)} left")


def in_words(seen: Seen) -> str:
    """Return `34 of 180 trials`, or what else the run does."""
    if seen.stage is not Stage.TRIALS:
        return str(seen.stage)
    return f"{seen.finished} of {'?' if seen.planned is None else seen.planned} trials"
