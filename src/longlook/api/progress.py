"""The progress of a run: a widget in a notebook, bars in a terminal, lines in a pipe, or nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longlook.api import html
from longlook.core import Outcome, Plan
from longlook.pipeline import Observer
from longlook.run import Progress
from longlook.terminal import RunDisplay, duration, lines_printer

_MOST_NOTES = 8
"""Remarks that stay below a notebook's bar, the last ones."""


@contextmanager
def shown(progress: bool) -> Iterator[Observer]:
    """Yield the functions that are called with what happens; with `progress` they show it while it goes on."""
    if not progress:
        yield Observer()
    elif in_notebook() and (widgets := _widgets()) is not None:
        with _Widget(widgets) as widget:
            yield widget.observer()
    else:
        display = RunDisplay(lines_printer(as_json=False))
        with display:
            yield display.observer()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _widgets() -> Any:
    try:
        import ipywidgets
    except ImportError:
        return None  # progress is shown as lines of text then
    return ipywidgets


class _Widget:
    """A bar with the time that is left. At the end it becomes lines of text, which a saved notebook keeps."""

    def __init__(self, widgets: Any) -> None:
        self._bar = widgets.IntProgress(min=0, max=1, description="", layout={"width": "22em"})
        self._label = widgets.HTML()
        self._below = widgets.HTML()
        self._box = widgets.VBox([widgets.HBox([self._bar, self._label]), self._below])
        self._notes: list[str] = []
        self._trials = ""

    def __enter__(self) -> "_Widget":
        from IPython.display import display

        display(self._box)
        return self

    def __exit__(self, *_: object) -> None:
        from IPython.display import HTML, display

        self._box.close()
        lines = [*self._notes, *([self._trials] if self._trials else [])]
        if lines:
            display(HTML(html.block(map(html.paragraph, lines))))

    def observer(self) -> Observer:
        return Observer(self._say, self._planned, self._progress, self._measured)

    def _say(self, words: str) -> None:
        self._notes = [*self._notes, words][-_MOST_NOTES:]
        self._below.value = html.block(map(html.paragraph, self._notes))

    def _planned(self, plan: Plan, finished: int) -> None:
        self._set(finished, len(plan.trials), "trials")
        self._trials = f"{plan.study}: {len(plan.trials)} trials" + (
            f", {finished} finished before" if finished else ""
        )

    def _progress(self, step: Progress) -> None:
        left = "" if step.left_s is None else f", about {duration(step.left_s)} left"
        self._set(step.done, step.total, f"trials{left}")
        if step.run.outcome is not Outcome.OK:
            self._say(f"{step.run.outcome}: {step.trial.arm}, {step.trial.cell_id}: {step.run.reason}")

    def _measured(self, done: int, total: int) -> None:
        self._set(done, total, "trials measured")

    def _set(self, done: int, total: int, what: str) -> None:
        self._bar.max, self._bar.value = max(1, total), done
        self._label.value = html.text(f"{done} of {total} {what}")
