"""The progress of a run of another process, read from its folder; nothing is written there."""

import os
import time
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from longlook.core import InputError, files
from longlook.instruments.runs.detached import log_of
from longlook.instruments.runs.holder import holder_of, holder_of_file
from longlook.instruments.runs.listing import ListedRun, read_run

_FEWEST = 3
"""Trials whose ends say how long another one takes."""
_MOST_REMEMBERED = 200


class Stage(StrEnum):
    """The stage of a run."""

    INSTALLING = "installing"
    TRIALS = "running trials"
    ANALYSIS = "analysing"
    ENDED = "ended"


@dataclass(frozen=True)
class Seen:
    """A look at a run. `left_s` is the real time in s that its trials will take; None: not known yet."""

    stage: Stage
    finished: int
    planned: int | None
    left_s: float | None
    listed: ListedRun | None  # None before it has its folder


class Follower:
    """Looks at one run again and again, and estimates what is left from the pace of its last trials."""

    def __init__(self, run: Path) -> None:
        """Take the run's folder; InputError if it is none, and no detached run is about to make it."""
        self.run = run
        self._ends: dict[str, float] = {}
        self._last: deque[float] = deque(maxlen=_MOST_REMEMBERED)
        self._planned: tuple[int, int | None] = (0, None)
        if self.look().listed is None and holder_of_file(log_of(run)) is None:
            hint = "a run has no folder while it installs: try again soon; longlook runs lists the runs below runs/"
            raise InputError(f"{run} is not a run folder", hint)

    def look(self) -> Seen:
        """Return how far the run is now."""
        is_writing = holder_of(self.run) is not None
        listed = read_run(self.run) if self.run.is_dir() else None
        if listed is None:
            is_installing = holder_of_file(log_of(self.run)) is not None
            return Seen(Stage.INSTALLING if is_installing else Stage.ENDED, 0, None, None, None)
        self._note_ends()
        planned = self._plan_size(listed)
        if not is_writing:
            stage = Stage.ENDED
        else:
            stage = Stage.ANALYSIS if planned is not None and listed.finished >= planned else Stage.TRIALS
        left = None if planned is None else max(0, planned - listed.finished)
        left_s = self._left_s(left) if stage is Stage.TRIALS and left is not None else None
        return Seen(stage, listed.finished, planned, left_s, listed)

    def _note_ends(self) -> None:
        """Note when trials ended that were not seen before: at first by their folders, then by the clock."""
        first = not self._ends
        fresh = []
        try:
            with os.scandir(self.run / "trials") as entries:
                for entry in entries:
                    if "." not in entry.name and entry.name not in self._ends:
                        fresh.append((entry.stat().st_mtime if first else time.time(), entry.name))
        except OSError:
            return
        for end, name in sorted(fresh):
            self._ends[name] = end
            self._last.append(end)

    def _left_s(self, left: int) -> float | None:
        if len(self._last) < _FEWEST:
            return None
        return left * max(0.0, time.time() - self._last[0]) / len(self._last)

    def _plan_size(self, listed: ListedRun) -> int | None:
        """Return the number of planned trials, which grows if losses are integrated."""
        plan = self.run / "plan.json"
        try:
            changed = plan.stat().st_mtime_ns
            if changed != self._planned[0]:
                self._planned = changed, len(files.read_json(plan)["trials"])
        except (OSError, ValueError, KeyError, TypeError):
            return listed.trials
        return self._planned[1]
