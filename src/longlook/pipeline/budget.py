"""A limit of real time: whole rounds run while the next one is expected to end in time."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from longlook.core import RunFolder, Study

NOTE = "left_by_budget"
"""The key of the manifest of a run whose budget was spent: `rounds`, `of` how many, and the `trials` that are left."""


class Budget:
    """The real time for the trials of a session, in s; None: as long as they take.

    The next round is expected to take as long for each trial as the last one. The first round always runs.
    """

    def __init__(self, seconds: float | None) -> None:
        """Begin now."""
        self._seconds = seconds
        self._began_s = monotonic()
        self._last: tuple[float, int] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._seconds is not None

    def allows(self, trials: int) -> bool:
        """Return whether the next round, of this number of trials, may begin now, and take note that it does."""
        now_s = monotonic()
        last, self._last = self._last, (now_s, trials)
        if self._seconds is None or last is None:
            return True
        expected_s = (now_s - last[0]) * trials / max(1, last[1])
        return now_s + expected_s <= self._began_s + self._seconds


@dataclass(frozen=True)
class Limits:
    """The reasons for a run to stop before its last round.

    `deciding` is the study whose correction counts for verdicts that are decided, and `budget` the time.
    """

    deciding: Study
    budget: Budget


def note_spent(folder: RunFolder, rounds: int, of: int, left: int) -> None:
    """Note in the manifest that a budget was spent."""
    folder.note(**{NOTE: {"rounds": rounds, "of": of, "trials": left}})


def spent(manifest: Mapping[str, Any]) -> str:
    """Return in a sentence what a budget left out; an empty text if it was enough, or there was none."""
    note = manifest.get(NOTE)
    if not note:
        return ""
    return f"The budget was spent after {note['rounds']} of {note['of']} rounds: {note['trials']} trials have not run."
