"""A cell of a run, and one trial of it with what was recorded."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from longlook.api import html
from longlook.core import (
    EVENTS,
    STATED,
    TIMELINE,
    InputError,
    LonglookError,
    RunFolder,
    codec,
    nearest,
)
from longlook.core import Run as Attempt
from longlook.core import Trial as Planned
from longlook.report import cell_label
from longlook.timeline import Events, Timeline

if TYPE_CHECKING:
    from longlook.api.explanations import Explanations
    from longlook.api.figure import Figure
    from longlook.api.runs import Run

_CAPTURE = 'study.with_(capture={"qlog": True, "tcp": True}) records traces'


class Cell:
    """A cell of a run: a combination of levels, in which all arms ran in rounds."""

    def __init__(self, folder: RunFolder, cell_id: str, run: "Run") -> None:
        """Take the cell's id; `Run.cell` finds a cell by its other names."""
        self._folder, self._run = folder, run
        self._id = cell_id
        self._trials = [trial for trial in folder.plan.trials if trial.cell_id == cell_id]

    @property
    def id(self) -> str:
        """The cell's id, which names its files."""
        return self._id

    @property
    def levels(self) -> Mapping[str, str]:
        """The label of each factor's level."""
        return dict(self._trials[0].cell)

    @property
    def label(self) -> str:
        """The levels as text: `50Mbit · 1MB`."""
        return cell_label(self.levels)

    @property
    def verdicts(self) -> pd.DataFrame:
        """The rows of `Run.verdicts` about this cell."""
        return self._own(self._run.verdicts)

    @property
    def estimates(self) -> pd.DataFrame:
        """The rows of `Run.estimates` about this cell."""
        return self._own(self._run.estimates)

    def samples(self) -> pd.DataFrame:
        """Return the rows of `Run.samples` of this cell."""
        return self._own(self._run.samples())

    def cdf(self, metric: str | None = None) -> "Figure":
        """Return the distribution of a metric over the cell's rounds, as `Run.cdf`."""
        return self._run.cdf(self.id, metric)

    def explain(self, contrast: str | None = None, progress: bool = True) -> "Explanations":
        """Say why an arm lost here, as `Run.explain`."""
        return self._run.explain(self.id, contrast=contrast, progress=progress)

    def trial(self, arm: str, *, round: int) -> "Trial":  # noqa: A002 the field's word
        """Return the trial of an arm in a round, from 1 as on the page; 0 is the point that a study states.

        If losses are integrated, a round has several trials of an arm: this is the first, without loss if there is one.
        InputError for an arm or a round that the cell does not have.
        """
        arms = list(dict.fromkeys(trial.arm for trial in self._trials))
        if arm not in arms:
            raise InputError(f"cell {self.id} has no arm {arm!r}{nearest(arm, arms)}", f"its arms: {', '.join(arms)}")
        number = STATED if round == 0 else round - 1
        own = [trial for trial in self._trials if trial.arm == arm]
        found = next((trial for trial in own if trial.round == number), None)
        if found is None:
            rounds = len({trial.round for trial in own if trial.round != STATED})
            raise InputError(f"cell {self.id} has no round {round}", f"rounds are 1 to {rounds}")
        return Trial(self._folder, found)

    def _own(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[table["cell"] == self.id].reset_index(drop=True)

    def _repr_html_(self) -> str:
        header = ["contrast", "metric", "effect", "interval", "verdict", "reason"]
        rows = [
            [html.text("" if pd.isna(row[name]) else str(row[name])) for name in header]
            for row in self.verdicts.to_dict("records")
        ]
        return html.block([html.heading(self.label), html.table(header, rows)])

    def __repr__(self) -> str:
        return f"<Cell {self.id}: {len(self._trials)} trials>"


class Trial:
    """One trial: its settings, its outcome, and the tables and files that it left."""

    def __init__(self, folder: RunFolder, planned: Planned) -> None:
        """Take a trial of a run's plan; `Cell.trial` and `Run.trial` find one."""
        self._folder, self._planned = folder, planned

    @property
    def id(self) -> str:
        """The trial's id, a digest of its settings."""
        return self._planned.id

    @property
    def arm(self) -> str:
        """The arm's name."""
        return self._planned.arm

    @property
    def round(self) -> int:
        """The round from 1; 0 of a trial at the point that the study states."""
        return 0 if self._planned.round == STATED else self._planned.round + 1

    @property
    def cell(self) -> str:
        """The cell's id."""
        return self._planned.cell_id

    @property
    def path(self) -> Path:
        """The folder of the attempt that counts."""
        return self._folder.trials / self.id

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the trial, as `trial.json` has it: endpoints, link, workload, seed."""
        found: dict[str, Any] = codec.encode(self._planned)
        return found

    @property
    def outcome(self) -> str:
        """The end of the trial: ok, failed, timed_out, unsupported, invalid, or not run."""
        return "not run" if self._attempt is None else str(self._attempt.outcome)

    @property
    def reason(self) -> str | None:
        """Why the trial did not go well; None if it did."""
        return None if self._attempt is None else self._attempt.reason

    @property
    def files(self) -> dict[str, Path]:
        """The files that the trial left, by their names in its folder; they are as they were sealed."""
        return {name: self.path / name for name in sorted(self._sound.artefacts)}

    @property
    def timeline(self) -> pd.DataFrame:
        """The trial in order of time: a row for each packet at the link, each request, each object.

        docs/reference/timeline.md has the columns, docs/reference/row-kinds.md the kinds. InputError if the trial did
        not go so far that it has one.

        >>> trial = run.cell("5KB").trial("quic", round=3)
        >>> int((trial.timeline["kind"] == "object_done").sum())
        2
        """
        return self._read(TIMELINE, "its trial did not go well, or the run is not analysed: see outcome and reason")

    @property
    def events(self) -> pd.DataFrame:
        """The traces of both ends as rows: packets, windows, round trips, states (docs/reference/row-kinds.md).

        InputError if no trace was recorded.
        """
        return self._read(EVENTS, _CAPTURE)

    @property
    def qlog(self) -> dict[str, list[Path]]:
        """The qlog files of a QUIC trial, by the end that wrote them: client, server.

        InputError if there is none: none was asked for, or the trial is TCP's, whose traces `files` has as `tcp/`.
        """
        found: dict[str, list[Path]] = {}
        for name, path in self.files.items():
            parts = name.split("/")
            if "qlog" in parts[:-1]:
                found.setdefault(parts[parts.index("qlog") + 1], []).append(path)
        if not found:
            raise InputError(f"trial {self.id} of {self.arm} left no qlog", _CAPTURE)
        return found

    @cached_property
    def _attempt(self) -> Attempt | None:
        return self._folder.result(self.id)

    @property
    def _sound(self) -> Attempt:
        """The attempt; InputError if there is none, or if it is not as it was sealed."""
        attempt = self._attempt
        if attempt is None:
            raise InputError(f"trial {self.id} has not run", f"study.run(out={str(self._folder.path)!r}) goes on")
        if what := self._folder.altered([self.id]).get(self.id):
            raise InputError(f"trial {self.id} is not as it was sealed: {what}", "run.check() names all; run it again")
        return attempt

    def _read(self, name: str, hint: str) -> pd.DataFrame:
        path = self.path / name
        if self._sound and not path.exists():
            raise InputError(f"trial {self.id} has no {name}", hint)
        try:
            table = Timeline.read(path).table if name == TIMELINE else Events.read(path).table
        except (OSError, ValueError) as error:
            raise LonglookError(f"{path} cannot be read: {error}", "run.analyse() makes it again") from error
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def _repr_html_(self) -> str:
        lines = [f"{self.arm}, round {self.round}, cell {self.cell}: {self.outcome}", self.reason or "", str(self.path)]
        return html.block(map(html.paragraph, lines))

    def __repr__(self) -> str:
        return f"<Trial of {self.arm} in round {self.round} of {self.cell}: {self.outcome}>"
