"""An installation: a line per part at work and a bar on a terminal, plain lines in a pipe, or JSON lines."""

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from longlook.provision import Installed, parallel
from longlook.terminal import Printer, Renderings

_STEP_CHARACTERS = 60


class SetupDisplay:
    """Shows an installation; a context manager."""

    def __init__(self, parts: Sequence[str], printer: Printer) -> None:
        self._printer = printer
        self._started: dict[str, float] = {}
        self._tasks: dict[str, TaskID] = {}
        self._drawn = printer.bars is not None
        self._at_work = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[step]}", style="dim", markup=False),
        )
        self._overall = Progress(TextColumn("installed"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._all = self._overall.add_task("", total=len(parts))
        self._live = Live(Group(self._at_work, self._overall), console=printer.bars, transient=True)

    def __enter__(self) -> Self:
        """Start drawing."""
        if self._drawn:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        if self._drawn:
            self._live.stop()

    def watcher(self) -> "parallel.InstallWatcher":
        """Return the functions that the installation calls."""
        return parallel.InstallWatcher(self._begun, self._step, self._ended)

    def conclude(self, results: Sequence[Installed]) -> None:
        """Name what failed, with the ends of the logs."""
        ready = [result.part for result in results if result.digest is not None]
        failed = [result for result in results if result.digest is None]
        done = {"event": "done", "ready": ready, "failed": [result.part for result in failed]}
        self._printer.show(Renderings(people=lambda: _failures(failed, len(results)), lines=lambda: [done]))

    def _begun(self, part: str) -> None:
        self._started[part] = time.monotonic()
        self._tasks[part] = self._at_work.add_task(part, step="", total=None)

    def _step(self, part: str, step: str) -> None:
        line = step.splitlines()[0] if step else ""
        self._at_work.update(self._tasks[part], step=line[:_STEP_CHARACTERS])
        self._printer.report("" if self._drawn else f"{part}: {step}", event="step", part=part, text=step)

    def _ended(self, result: Installed) -> None:
        self._at_work.remove_task(self._tasks.pop(result.part))
        self._overall.advance(self._all)
        took_s = time.monotonic() - self._started[result.part]
        if result.digest is None:
            text = f"{result.part}: failed after {took_s:.1f} s"
            self._printer.report(text, event="failed", part=result.part, message=result.message, hint=result.hint)
        else:
            text = f"{result.part}: ready (sha256 {result.digest[:12]}), {took_s:.1f} s"
            self._printer.report(text, event="ready", part=result.part, digest=result.digest, took_s=round(took_s, 1))


def _failures(failed: Sequence[Installed], of: int) -> Iterator[str]:
    """Yield the parts that failed, each with the reason and the end of its log; `of` is the number of all parts."""
    if failed:
        yield f"\n{len(failed)} of {of} could not be installed:"
    for result in failed:
        first, *log = result.message.splitlines() or ["no reason given"]
        yield f"\n✗ {result.part}: {first}"
        yield from (f"    │ {line}" for line in log)
        if result.hint:
            yield f"    → {result.hint}"
