"""The page of a run that goes on: its frame, and the heatmaps that are kept up to date behind it.

The page may cost a run 2 % of its CPU time. So the libraries of estimates and drawings, which take seconds to load, are
loaded only if the run has gone on for long enough, and drawings wait until the run has earned them. Trials are measured
at once: the measurements go to the cache, in which the run's own analysis finds them.
"""

import threading
import time
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from longlook.core import LonglookError, Study, visible
from longlook.instruments.runs.holder import holder_of

if TYPE_CHECKING:
    from longlook.pipeline import PartialRun

SHARE = 0.02
"""The CPU time of the page, as a share of what the run has used."""

_LIBRARIES_S, _FIRST_DRAWING_S = 2.5, 0.5
"""CPU seconds that loading and a first drawing are expected to take."""
_MEASURED_AT_ONCE = 10
_DRAWN_AFTER = 100
"""Trials that are measured before the map is drawn, if a run has more of them already."""
_LOOKS_EVERY_S = 2.0


def page_html(study: Study, run: Path, nonce: str) -> str:
    """Return the page, whose script fills it; `nonce` is for its content security policy."""
    texts = {"title": study.title, "question": study.question, "study": study.id, "run": str(run)}
    return Template(_read("instruments/runs/live.html")).substitute(
        {name: escape(visible(text)) for name, text in texts.items()},
        nonce=nonce,
        css=_read("report/assets/report.css") + _read("instruments/runs/live.css"),
        js=_read("instruments/runs/live.js"),
    )


def _read(name: str) -> str:
    return files("longlook").joinpath(name).read_text(encoding="utf-8")


@dataclass
class Allowance:
    """The CPU time that the page may take by now; measuring, which the run is spared, does not count."""

    run: Path
    measuring_s: float = 0.0

    def has(self, next_s: float) -> bool:
        """Return whether work that takes `next_s` of CPU time may be done."""
        holder = holder_of(self.run)
        used_s = 0.0 if holder is None else holder.cpu_s
        return time.process_time() - self.measuring_s + next_s <= SHARE * used_s


class LiveMaps:
    """Keeps the heatmaps of a run up to date, in a thread of its own."""

    def __init__(self, run: Path) -> None:
        """Take the folder of a run."""
        self._run = run
        self._allowance = Allowance(run)
        self._html = ""
        self._version = 0
        self._lock = threading.Lock()
        self._ended, self._last = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="heatmaps", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def finish(self) -> None:
        """Draw what has ended by now, whatever it takes, and end."""
        self._ended.set()
        self._last.wait()

    @property
    def now(self) -> tuple[int, str]:
        """The number of the drawing, which rises, and its HTML; 0 and an empty text before the first."""
        with self._lock:
            return self._version, self._html

    @property
    def measuring_s(self) -> float:
        """The CPU seconds of measurements, which the run is spared."""
        return self._allowance.measuring_s

    def _go_on(self) -> None:
        try:
            while not self._allowance.has(_LIBRARIES_S) and not self._ended.wait(_LOOKS_EVERY_S):
                pass
            from longlook.pipeline import PartialRun

            with TemporaryDirectory(prefix="longlook-watch-") as scratch:
                self._follow(PartialRun(self._run, Path(scratch)))
        finally:
            self._last.set()

    def _follow(self, partial: "PartialRun") -> None:
        fresh, drawing_s, is_last = 0, _FIRST_DRAWING_S, False
        while not is_last:
            is_last = self._ended.is_set()
            try:
                fresh += self._measure(partial, is_last=is_last)
                if fresh and (is_last or self._allowance.has(drawing_s)):
                    began_s = time.process_time()
                    self._draw(partial)
                    drawing_s = time.process_time() - began_s
                    fresh = 0
            except (LonglookError, OSError, ValueError):
                pass  # the run replaces a file at this moment, or a trial moves aside: the next look has it
            if not is_last:
                self._ended.wait(_LOOKS_EVERY_S)

    def _measure(self, partial: "PartialRun", *, is_last: bool) -> int:
        """Measure the trials that have ended; many of them in several turns, unless it is the last one."""
        began_s, fresh = time.process_time(), 0
        while (count := partial.measure_next(_MEASURED_AT_ONCE)) and (is_last or fresh < _DRAWN_AFTER):
            fresh += count
        self._allowance.measuring_s += time.process_time() - began_s
        return fresh + count

    def _draw(self, partial: "PartialRun") -> None:
        from longlook.instruments.runs.live_maps import live_maps, maps_html

        html = maps_html(live_maps(partial.study, partial.so_far()))
        with self._lock:
            self._version += 1
            self._html = html
