"""An installation: a line per part at work and a bar on a terminal, plain lines in a pipe, or JSON lines."""

import json
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from longlook.provision import parallel
from longlook.provision.parallel import Installed
from longlook.terminal.console import console

_STEP_CHARACTERS = 60


class SetupDisplay:
    """Shows an installation; a context manager."""

    def __init__(self, parts: Sequence[str], *, as_json: bool) -> None:
        self._as_json = as_json
        self._console = console()
        self._started: dict[str, float] = {}
        self._tasks: dict[str, TaskID] = {}
        self._drawn = sys.stdout.isatty() and not as_json
        self._at_work = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[step]}", style="dim", markup=False),
        )
        self._overall = Progress(TextColumn("installed"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._all = self._overall.add_task("", total=len(parts))
        self._live = Live(Group(self._at_work, self._overall), console=self._console, transient=True)

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
        failed = [result for result in results if result.digest is None]
        if self._as_json:
            ready = [result.part for result in results if result.digest is not None]
            self._emit(event="done", ready=ready, failed=[result.part for result in failed])
            return
        if failed:
            self._line(f"\n{len(failed)} of {len(results)} could not be installed:")
        for result in failed:
            first, *log = result.message.splitlines() or ["no reason given"]
            self._line(f"\n✗ {result.part}: {first}")
            for line in log:
                self._line(f"    │ {line}")
            if result.hint:
                self._line(f"    → {result.hint}")

    def _begun(self, part: str) -> None:
        self._started[part] = time.monotonic()
        self._tasks[part] = self._at_work.add_task(part, step="", total=None)

    def _step(self, part: str, step: str) -> None:
        if self._as_json:
            self._emit(event="step", part=part, text=step)
        elif self._drawn:
            line = step.splitlines()[0] if step else ""
            self._at_work.update(self._tasks[part], step=line[:_STEP_CHARACTERS])
        else:
            self._line(f"{part}: {step}")

    def _ended(self, result: Installed) -> None:
        self._at_work.remove_task(self._tasks.pop(result.part))
        self._overall.advance(self._all)
        took_s = time.monotonic() - self._started[result.part]
        if self._as_json:
            if result.digest is None:
                self._emit(event="failed", part=result.part, message=result.message, hint=result.hint)
            else:
                self._emit(event="ready", part=result.part, digest=result.digest, took_s=round(took_s, 1))
        elif result.digest is None:
            self._line(f"{result.part}: failed after {took_s:.1f} s")
        else:
            self._line(f"{result.part}: ready (sha256 {result.digest[:12]}), {took_s:.1f} s")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def _emit(self, **line: Any) -> None:
        sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
        sys.stdout.flush()
