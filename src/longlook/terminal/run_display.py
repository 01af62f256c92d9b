"""A run on a terminal, in a pipe, and as JSON lines."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from longlook.core import (
    Estimate,
    InterruptedByUserError,
    LonglookError,
    MachineError,
    Outcome,
    Plan,
    Study,
    Verdict,
    codec,
    round_name,
)
from longlook.pipeline import Observer, Result, described
from longlook.report import (
    CLIFF,
    claims_in_short,
    claims_markdown,
    expectation_lines,
    expectations_counted,
    expectations_junit,
    expectations_markdown,
    failures,
    hypotheses_counted,
    markdown_table,
    ordered,
    repeats,
    text,
)
from longlook.run import Progress, Verification
from longlook.terminal.console import duration
from longlook.terminal.printer import Printer, Renderings, Unwrapped
from longlook.terminal.time_left import TimeLeft

_STYLES = {
    Verdict.BETTER: "bold red",
    Verdict.WORSE: "bold blue",
    Verdict.EQUIVALENT: "bold",
    Verdict.INCONCLUSIVE: "dim",
}


_CONCLUDING = "estimates, figures and page"
_SILENT_S, _LOOKS_EVERY_S = 10.0, 1.0
"""The silence after which a display without bars says what goes on."""


class RunDisplay:
    """Shows a run while it goes on; a context manager."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeLeft(),
            console=printer.bars,
            disable=printer.bars is None,
        )
        self._trials = self._bars.add_task("trials", total=None, visible=False)
        self._verifying = self._bars.add_task("repeats", total=None, visible=False)
        self._measuring = self._bars.add_task("measuring", total=None, visible=False)
        self._concluding = self._bars.add_task(_CONCLUDING, total=None, visible=False)
        self._stage = ""
        self._spoke_s = time.monotonic()
        self._left = threading.Event()
        self._speaker = threading.Thread(target=self._break_silence, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bars.start()
        if self._bars.disable:
            self._speaker.start()
        return self

    def _break_silence(self) -> None:
        """Say every now and then what goes on, if there are no bars that show it."""
        while not self._left.wait(_LOOKS_EVERY_S):
            if self._stage and time.monotonic() - self._spoke_s >= _SILENT_S:
                self._say(self._stage)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was. After an error the bars stay as they are; else they end full."""
        self._left.set()
        if self._speaker.is_alive():
            self._speaker.join()
        if kind is None:
            self._fill()
        self._bars.stop()

    def _fill(self) -> None:
        """Fill the bars. Cells that were decided early did not need the rest of the trials."""
        for bar in self._bars.tasks:
            done = max(1, int(bar.completed)) if bar.id == self._concluding else int(bar.completed)
            self._bars.update(bar.id, total=done, completed=done)

    def observer(self) -> Observer:
        """Return the functions that the pipeline calls."""
        return Observer(self._say, self._planned, self._progress, self._measured, self._verified)

    def conclude(self, result: Result) -> None:
        """Print the verdicts and the place of the report."""
        self._printer.show(
            Renderings(
                people=lambda: _people(result),
                lines=lambda: _lines(result),
                markdown=lambda: _markdown(result),
                junit=lambda: expectations_junit(result.study, result.expectations),
            )
        )

    def _say(self, text: str) -> None:
        self._spoke_s = time.monotonic()
        self._printer.report(text, event="note", text=text)

    def _planned(self, plan: Plan, finished: int) -> None:
        self._bars.update(self._trials, total=len(plan.trials), completed=finished, visible=True)
        self._say(f"{plan.study}: {len(plan.trials)} trials" + (f", {finished} finished before" if finished else ""))

    def _progress(self, step: Progress) -> None:
        self._bars.update(self._trials, total=step.total, completed=step.done, left_s=step.left_s)
        self._stage = f"{step.done} of {step.total} trials"
        run = step.run
        self._printer.report(
            self._told(step),
            event="trial",
            id=run.trial_id,
            done=step.done,
            total=step.total,
            outcome=run.outcome,
            reason=run.reason,
            attempt=run.attempt,
            retried=step.retried,
            cached=step.cached,
            left_s=None if step.left_s is None else round(step.left_s, 1),
        )

    def _told(self, step: Progress) -> str:
        """Return the text for people: about every trial that went wrong, and about every 20th if there are no bars."""
        run = step.run
        if run.outcome is not Outcome.OK:
            where = ", ".join(f"{name}={level}" for name, level in step.trial.cell.items())
            again = "; trying again" if step.retried else ""
            return f"{run.outcome}: {step.trial.arm} {round_name(step.trial.round)} ({where}): {run.reason}{again}"
        counted = self._counted(step.done, step.total, "trials")
        if counted:
            self._spoke_s = time.monotonic()
        return f"{counted}, about {duration(step.left_s)} left" if counted and step.left_s else counted

    def _counted(self, done: int, total: int, what: str) -> str:
        return f"{done} of {total} {what}" if self._bars.disable and (done % 20 == 0 or done == total) else ""

    def _measured(self, done: int, total: int) -> None:
        self._bars.update(self._measuring, total=total, completed=done, visible=True)
        self._stage = f"{done} of {total} trials measured" if done < total else _CONCLUDING
        self._bars.update(self._concluding, visible=done == total)

    def _verified(self, done: int, total: int) -> None:
        self._bars.update(self._verifying, total=total, completed=done, visible=True)
        self._printer.report(self._counted(done, total, "repeats"), event="repeat", done=done, total=total)


def _people(result: Result) -> Iterator[RenderableType | Unwrapped]:
    if result.study.contrasts:
        yield verdict_table(result.study, result.estimates)
    if set(result.outcomes) != {Outcome.OK}:
        yield Text(f"attempts: {', '.join(f'{count} {outcome}' for outcome, count in result.outcomes.items())}")
    if result.claims:
        yield Text(f"published claims: {claims_in_short(result.claims)}")
    if result.verification is not None:
        yield verification_table(result.study, result.verification)
        if result.verification.unable:
            yield Text(result.verification.unable, style="yellow")
        for trial in result.verification.diverged:
            where = f"{trial.trial_id} ({trial.arm}, {round_name(trial.round)})"
            folders = f"{result.path / 'trials' / trial.trial_id} {result.path / str(trial.divergent)}"
            yield f"{where}: {trial.first_difference} differs; longlook diff-runs {folders}"
    if result.unmeasured:
        yield result.unmeasured
    for holds, line in expectation_lines(result.study, result.expectations):
        yield Unwrapped(Text(line), None if holds else "bold red")
    if result.expectations:
        yield Text(expectations_counted(result.study, result.expectations))
    if result.study.hypotheses:
        yield Text(hypotheses_counted(result.study.hypotheses, result.hypotheses))
    if (exact := result.results_digest) is not None:
        yield Text(f"exact: {exact.trials} trials, results {exact.digest[:16]}")
    yield from (f"inside: {page}" for page in result.inside)
    if result.published is not None:
        yield from (Text(remark, style="yellow") for remark in result.published.remarks)
        yield f"to publish: {result.published.folder}, {len(result.published.files)} files"
    yield f"report: {result.report}"


def _lines(result: Result) -> Iterator[dict[str, Any]]:
    yield {
        "event": "result",
        "run": str(result.path),
        "report": str(result.report),
        "inside": [str(page) for page in result.inside],
        "published": codec.encode(result.published),
        "results": codec.encode(result.results_digest),
        "outcomes": {str(outcome): count for outcome, count in result.outcomes.items()},
        "estimates": codec.encode(result.estimates),
        "claims": codec.encode(result.claims),
        "verification": codec.encode(result.verification),
        "altered": dict(result.altered),
        "unmeasured": result.unmeasured,
        "expectations": codec.encode(result.expectations),
        "hypotheses": codec.encode(result.hypotheses),
    }


def _markdown(result: Result) -> str:
    study = result.study
    tables = [
        *([markdown_table(study, result.estimates)] if study.contrasts else []),
        *([claims_markdown(result.claims)] if result.claims else []),
        *([expectations_markdown(study, result.expectations)] if result.expectations else []),
    ]
    return "\n".join(tables)


@contextmanager
def going_on(hint: Callable[[], str | None]) -> Iterator[None]:
    """Say how to go on when a person or the machine stops what runs: `hint` returns that, or None if nothing is left.

    Raises InterruptedByUserError after Ctrl-C, and MachineError with the hint behind its own.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", hint()) from error
    except MachineError as error:
        raise MachineError(error.message, "; then ".join(filter(None, [error.hint, hint()]))) from error


def fail_where_diverged(result: Result) -> None:
    """Raise LonglookError if a trial that ran again did not repeat exactly."""
    if result.verification is not None and (diverged := result.verification.diverged):
        raise LonglookError(
            f"{len(diverged)} of {len(result.verification.trials)} trials did not repeat exactly",
            "longlook diff-runs, as above, shows the first difference between each and its repeat",
        )


def fail_without_trials(result: Result) -> None:
    """Raise LonglookError if no trial of a run succeeded."""
    if Outcome.OK not in result.outcomes:
        raise LonglookError("no trial succeeded", f"the report gives the reasons: {result.report}")


def fail_where_unexpected(result: Result) -> None:
    """Raise LonglookError if an expectation of the study does not hold in a trial."""
    if failed := sum(not each.holds for each in result.expectations):
        raise LonglookError(
            f"{expectations_counted(result.study, result.expectations)}: {failed} of {len(result.expectations)} "
            "judgements failed",
            f"the lines above that begin with FAILED; {result.path / 'expectations.json'} has all",
        )


def fail_where_altered(result: Result) -> None:
    """Raise LonglookError if trials are not as they were sealed."""
    if result.altered:
        raise LonglookError(
            f"{described(result.altered)}, and counted out",
            f"the run's command with --resume {result.path} in place of --out runs them again",
        )


def verdict_table(study: Study, estimates: Sequence[Estimate]) -> Table:
    """Return the verdicts for a terminal; + means the contender is better."""
    header, *rows = text.plain_rows(study, estimates)
    numeric = len(header) - text.numeric_columns(study) - 1
    where = "in the neighbourhood of the cell" if study.around else "at the point of the cell"
    caption = f"+ means the contender is better, {where}"
    if any(item.cliff for item in estimates):
        caption += f"; {CLIFF} the effect differs by more than the margin inside it"
    if any(item.is_integrated for item in estimates):
        caption += "; means are over all loads, as losses are integrated"
    caption = "\n".join([caption, *failures(study, estimates)])
    table = Table(title=Text(study.title), caption=Text(caption), header_style="bold")
    for index, name in enumerate(header):
        verdict = index == len(header) - 1
        right = numeric <= index and not verdict
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold", no_wrap=verdict)
    for row, item in zip(rows, ordered(study, estimates), strict=True):
        style = _STYLES[item.verdict]
        table.add_row(*(Text(cell, style=style if index == len(row) - 1 else "") for index, cell in enumerate(row)))
    return table


def verification_table(study: Study, verification: Verification) -> Table:
    """Return how many repeats of each cell and arm gave the same bytes, for a terminal."""
    header, *rows = repeats.plain_rows(study, verification)
    title = f"Run {_times(verification.repeats)} more: how many repeats gave the same"
    table = Table(title=Text(title), header_style="bold")
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for row, group in zip(rows, repeats.ordered_groups(study, verification), strict=True):
        table.add_row(*map(Text, row), style="bold red" if group.diverged else "")
    return table


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
