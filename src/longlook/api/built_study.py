"""A study that is read or built in Python: the same keys, rules and messages as in a file, and its runs."""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.api import html
from longlook.api.factors import cells_table, with_levels
from longlook.api.runs import Run
from longlook.api.runs import open as open_run
from longlook.api.script import apart_from_script
from longlook.core import InputError, Plan, Problems
from longlook.core import Study as Checked
from longlook.study import (
    VIRTUAL,
    as_toml,
    cell_id,
    changed_document,
    chosen_cells,
    count_trials,
    find_document,
    labels_of,
    levels_of,
    make_plan,
    study_files,
    study_of_document,
    with_contrasts,
)

_SCHEMA = "schema"


def study(name_or_path: str | os.PathLike[str]) -> "Study":
    """Return a study by its name, or from a file that ends in .toml.

    InputError with every problem of the file, a line each.

    >>> study("demo")
    <Study demo: 2 arms, 12 cells, 10 rounds, 240 trials>
    """
    study_id, document = find_document(os.fspath(name_or_path))
    return Study._of(study_id, document)


def studies() -> list[str]:
    """Return the names of all studies that are installed, of this package and of LONGLOOK_PLUGINS.

    >>> "kakhki2017-fig6a" in studies()
    True
    """
    return list(study_files())


class Study:
    """A study: a question, its arms and cells, and how its verdicts are reached. It never changes.

    Study files have the same keys (docs/reference/study-keys.md); here they are Python's dictionaries and lists.

    >>> mine = Study(
    ...     "window",
    ...     title="A smaller initial window",
    ...     question="What does it cost?",
    ...     metrics=["page_load_time"],
    ...     defaults={"client": "quic-go", "connection": "resumed", "protocol": "h3"},
    ...     arms={
    ...         "usual": {"server": "quic-go@0.65.0+knobs"},
    ...         "small": {"server": "quic-go@0.65.0+knobs", "server_knobs": {"initial_window": 10}},
    ...     },
    ...     workload={"kind": "page", "objects": 1},
    ...     network={"rate": "50Mbit", "rtt": "36ms", "queue": "1bdp"},
    ...     factors=[{"name": "size", "sets": "workload.object", "levels": ["5KB", "100KB"]}],
    ...     contrasts=[["usual", "small"]],
    ... )
    >>> mine
    <Study window: 2 arms, 2 cells, 10 rounds, 40 trials>
    >>> mine.cells
        cell   size  size_bytes  trials
    0    5KB    5KB      5000.0      20
    1  100KB  100KB    100000.0      20
    """

    def __init__(self, name: str = "study", /, **keys: Any) -> None:
        """Take the study's name, which names its run folders, and its keys.

        InputError with every problem, a line each, as `longlook run` would print them.
        """
        if not name.isidentifier() and not name.replace("-", "_").replace(".", "_").isidentifier():
            raise InputError(f"{name!r} names no study", "use letters, digits, - and _, such as my-study")
        self._name = name
        self._document: dict[str, Any] = {_SCHEMA: 1, **{key: _plain(value) for key, value in keys.items()}}
        self._study = self._checked(VIRTUAL)

    @classmethod
    def _of(cls, name: str, document: Mapping[str, Any]) -> "Study":
        made = cls.__new__(cls)
        made._name, made._document = name, dict(document)
        made._study = made._checked(VIRTUAL)
        return made

    def _checked(self, engine: str) -> Checked:
        return study_of_document(self._name, self._document, Problems(self._name), engine=engine)

    @property
    def name(self) -> str:
        """The study's name."""
        return self._name

    @property
    def title(self) -> str:
        """The title, one line."""
        return self._study.title

    @property
    def question(self) -> str:
        """The question that it asks."""
        return self._study.question

    @property
    def document(self) -> dict[str, Any]:
        """A copy of its keys, as a study file has them, with the keys of the studies that it extends."""
        return deepcopy(self._document)

    @property
    def cells(self) -> pd.DataFrame:
        """A row for each cell, with the number of its trials, in the order of factors and levels."""
        each = count_trials(self._study, 1)
        names = [cell_id(labels_of(cell)) for cell in chosen_cells(self._study)]
        return cells_table(self._study, dict.fromkeys(names, each))

    @property
    def trials(self) -> int:
        """The number of trials of a whole run; with rounds that decide, or integrated losses, of the planned ones."""
        return count_trials(self._study, len(chosen_cells(self._study)))

    def with_(
        self,
        *,
        rounds: int | str | None = None,
        around: str | Mapping[str, str] | None = None,
        losses: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> "Study":
        """Return the study with other values; the first four are `--rounds`, `--around`, `--losses` and `--set`.

        `settings` are single settings by dotted key. Every other key replaces the study's whole value of that key.
        InputError if a change would have no effect, or with every problem of the changed study.

        >>> study("demo").with_(rounds=20, settings={"network.rtt": "80ms"})
        <Study demo: 2 arms, 12 cells, 20 rounds, 480 trials>
        """
        document = {**self._document, **{key: _plain(value) for key, value in keys.items()}}
        problems = Problems(self._name)
        texts = {key: _as_text(value) for key, value in (settings or {}).items()}
        changed = changed_document(
            document, problems, rounds=rounds, changes=texts, around=_plain(around), losses=losses
        )
        problems.raise_if_any()
        return Study._of(self._name, changed)

    def to_toml(self) -> str:
        """Return the study as the text of a study file: `longlook run FILE` plans the same trials of it.

        The name of the file is the name of the study. Paths of traces, recordings and configurations are absolute.

        >>> print(study("demo").to_toml()[:54])
        schema = 1
        title = "Demo: page load time over QUIC and
        """
        return as_toml(self._document)

    def plan(self, only: Sequence[str] = ()) -> pd.DataFrame:
        """Return a row for each trial in the order in which they run; `only` chooses cells and contrasts as `run`'s."""
        chosen, plan = self._planned(only, VIRTUAL)
        trials = plan.trials
        table = pd.DataFrame(
            {
                "cell": pd.Series([trial.cell_id for trial in trials], dtype="str"),
                "arm": pd.Categorical([trial.arm for trial in trials], [arm.name for arm in chosen.arms]),
                "round": pd.Series([trial.round + 1 for trial in trials], dtype="int64"),
                "seed": pd.Series([trial.seed for trial in trials], dtype="int64"),
                "trial_id": pd.Series([trial.id for trial in trials], dtype="str"),
            }
        )
        labels = {factor.name: [trial.cell.get(factor.name) for trial in trials] for factor in chosen.factors}
        return with_levels(table, chosen, labels, 3)

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        only: str | Sequence[str] = (),
        engine: str = VIRTUAL,
        jobs: int | None = None,
        cache: bool = True,
        progress: bool = True,
    ) -> Run:
        """Run the study, or what is missing of it, and return the run with its tables and its report.

        `out` is the run folder; default: `runs/NAME-TIME`. A folder in which this study was begun is gone on with: a
        call that was interrupted loses no finished trial, and the same call with the same `out` goes on. `only` are
        filters as of `--only`: `size=1MB`, `50Mbit,1MB`, `contrast=NAME`. `engine` is virtual or live, `jobs` the
        trials at once, by default one for each CPU; without `cache` finished trials of the cache run again.

        InputError if the study cannot run so, if the folder has another plan or is in use; MachineError if this machine
        cannot.
        """
        from longlook.api.progress import shown
        from longlook.engines import make_engine
        from longlook.pipeline import RunOptions, run_study
        from longlook.terminal import at_once, new_folder

        filters = [only] if isinstance(only, str) else list(only)
        chosen = with_contrasts(self._checked(engine), filters)
        folder = new_folder(self._name) if out is None else Path(out)
        options = RunOptions(
            make_engine(engine),
            jobs=at_once(jobs),
            use_cache=cache,
            only=levels_of(filters),
            resume=(folder / "manifest.json").exists(),
            command=("longlook.api", "run", self._name, *(f"--only={text}" for text in filters)),
        )
        try:
            with shown(progress) as observer, apart_from_script():
                run_study(chosen, folder, options, observer)
        except BaseException as error:
            if (folder / "manifest.json").exists():
                error.add_note(f"finished trials are kept: run(out={str(folder)!r}) goes on with what is missing")
            raise
        return open_run(folder)

    def _planned(self, only: str | Sequence[str], engine: str) -> tuple[Checked, Plan]:
        filters = [only] if isinstance(only, str) else list(only)
        chosen = with_contrasts(self._checked(engine), filters)
        return chosen, make_plan(chosen, levels_of(filters))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and (self._name, self._study) == (other._name, other._study)

    __hash__ = None  # type: ignore[assignment]  # its keys are dictionaries

    def _size(self) -> str:
        cells, rounds = len(chosen_cells(self._study)), self._study.rounds
        most = "at most " if self._study.stopping is not None else ""
        return f"{len(self._study.arms)} arms, {cells} cells, {most}{rounds} rounds, {self.trials} trials"

    def __repr__(self) -> str:
        return f"<Study {self._name}: {self._size()}>"

    def _repr_html_(self) -> str:
        study = self._study
        arms = html.table(["arm", "what it is"], [[html.text(arm.name), html.text(arm.label)] for arm in study.arms])
        levels = html.table(
            ["factor", "levels"],
            [[html.text(each.name), html.text(", ".join(at.label for at in each.levels))] for each in study.factors],
        )
        parts = [html.heading(study.title), html.paragraph(study.question), arms, levels, html.paragraph(self._size())]
        return html.block(parts)


def _plain(value: Any) -> Any:
    """Return a value as a file would have it: tuples as lists, paths and whole numbers of numpy as what they are."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    item = getattr(value, "item", None)  # a number of numpy
    return item() if callable(item) and not isinstance(value, str) else value


def _as_text(value: Any) -> str:
    """Return the value of a setting as `--set KEY=VALUE` has it."""
    plain = _plain(value)
    return str(plain).lower() if isinstance(plain, bool) else str(plain)
