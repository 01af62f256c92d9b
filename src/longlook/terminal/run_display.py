"""A run on a terminal, in a pipe, and as JSON lines."""

import json
import sys
from types import TracebackType
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from longlook.core import codec
from longlook.core.errors import LonglookError
from longlook.core.model import Outcome, Plan
from longlook.pipeline.analyse import Result
from longlook.pipeline.evidence import described
from longlook.pipeline.options import Observer
from longlook.report.text import claims_in_short, claims_markdown, markdown_table
from longlook.run import execute
from longlook.terminal.console import console
from longlook.terminal.tables import verdict_table, verification_table


class RunDisplay:
    """Shows a run while it goes on; a context manager."""

    def __init__(self, *, as_json: bool, as_markdown: bool = False) -> None:
        self._as_json = as_json
        self._as_markdown = as_markdown
        self._console = console()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=as_json or not sys.stdout.isatty(),
        )
        self._trials = self._bars.add_task("trials", total=None, visible=False)
        self._verifying = self._bars.add_task("repeats", total=None, visible=False)
        self._measuring = self._bars.add_task("measuring", total=None, visible=False)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        self._bars.stop()

    def observer(self) -> Observer:
        """Return the functions that the pipeline calls."""
        return Observer(self._say, self._planned, self._progress, self._measured, self._verified)

    def conclude(self, result: Result) -> None:
        """Print the verdicts and where the report is."""
        if self._as_json:
            self._emit(
                event="result",
                run=str(result.path),
                report=str(result.report),
                inside=[str(page) for page in result.inside],
                results=codec.encode(result.results_digest),
                outcomes={str(outcome): count for outcome, count in result.outcomes.items()},
                estimates=codec.encode(result.estimates),
                claims=codec.encode(result.claims),
                verification=codec.encode(result.verification),
                altered=dict(result.altered),
                unmeasured=result.unmeasured,
            )
            return
        if self._as_markdown:
            sys.stdout.write(markdown_table(result.study, result.estimates))
            sys.stdout.write("\n" + claims_markdown(result.claims) if result.claims else "")
            return
        self._console.print(verdict_table(result.study, result.estimates))
        if set(result.outcomes) != {Outcome.OK}:
            counted = ", ".join(f"{count} {outcome}" for outcome, count in result.outcomes.items())
            self._console.print(f"attempts: {counted}")
        if result.claims:
            self._console.print(f"published directions: {claims_in_short(result.claims)}")
        if result.verification is not None:
            self._console.print(verification_table(result.study, result.verification))
            for trial in result.verification.diverged:
                where = f"{trial.trial_id} ({trial.arm}, round {trial.round + 1})"
                folders = f"{result.path / 'trials' / trial.trial_id} {result.path / str(trial.divergent)}"
                text = f"{where}: {trial.first_difference} differs; longlook diff-runs {folders}"
                self._console.print(text, soft_wrap=True, markup=False)
        if result.unmeasured:
            self._console.print(result.unmeasured, soft_wrap=True, markup=False)
        if result.results_digest is not None:
            exact = result.results_digest
            self._console.print(f"exact: {exact.trials} trials, results {exact.digest[:16]}", markup=False)
        for page in result.inside:
            self._console.print(f"inside: {page}", soft_wrap=True, markup=False)
        self._console.print(f"report: {result.report}", soft_wrap=True, markup=False)

    def _say(self, text: str) -> None:
        if self._as_json:
            self._emit(event="note", text=text)
        else:
            self._console.print(text, markup=False, soft_wrap=True)

    def _planned(self, plan: Plan, finished: int) -> None:
        self._bars.update(self._trials, total=len(plan.trials), completed=finished, visible=True)
        self._say(f"{plan.study}: {len(plan.trials)} trials" + (f", {finished} finished before" if finished else ""))

    def _progress(self, step: execute.Progress) -> None:
        run = step.run
        if self._as_json:
            self._emit(
                event="trial",
                id=run.trial_id,
                done=step.done,
                total=step.total,
                outcome=run.outcome,
                reason=run.reason,
                attempt=run.attempt,
                retried=step.retried,
                cached=step.cached,
            )
            return
        self._bars.update(self._trials, total=step.total, completed=step.done)
        if run.outcome is not Outcome.OK:
            where = ", ".join(f"{name}={level}" for name, level in step.trial.cell.items())
            again = "; trying again" if step.retried else ""
            self._say(f"{run.outcome}: {step.trial.arm} round {step.trial.round + 1} ({where}): {run.reason}{again}")
        elif self._bars.disable and (step.done % 20 == 0 or step.done == step.total):
            self._say(f"{step.done} of {step.total} trials")

    def _measured(self, done: int, total: int) -> None:
        self._bars.update(self._measuring, total=total, completed=done, visible=True)

    def _verified(self, done: int, total: int) -> None:
        if self._as_json:
            self._emit(event="repeat", done=done, total=total)
            return
        self._bars.update(self._verifying, total=total, completed=done, visible=True)
        if self._bars.disable and (done % 20 == 0 or done == total):
            self._say(f"{done} of {total} repeats")

    def _emit(self, **line: Any) -> None:
        sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
        sys.stdout.flush()


def fail_without_trials(result: Result) -> None:
    """Raise LonglookError if no trial of a run succeeded."""
    if Outcome.OK not in result.outcomes:
        raise LonglookError("no trial succeeded", f"the report gives the reasons: {result.report}")


def fail_where_altered(result: Result) -> None:
    """Raise LonglookError if trials are not as they were sealed."""
    if result.altered:
        raise LonglookError(
            f"{described(result.altered)}, and counted out",
            f"the run's command with --resume {result.path} in place of --out runs them again",
        )
