"""A finished run, or what there is of it, read from its folder."""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from longlook.analysis import arm_levels, estimates_from_table
from longlook.api import html, tables
from longlook.api.cells import Cell, Trial
from longlook.api.explanations import Explanations
from longlook.api.factors import cells_table, factor_columns, number_columns
from longlook.api.figure import Figure
from longlook.api.script import apart_from_script
from longlook.core import (
    DEPENDENCES,
    SAMPLES,
    ClaimResult,
    Contrast,
    Estimate,
    InputError,
    RunFolder,
    codec,
    files,
    nearest,
)
from longlook.explain import find_cells
from longlook.pipeline import ALTERED, CLAIMS, ESTIMATES, FOLDER, RESULTS, check_analysed, check_tables, read_answers
from longlook.report import ReportContent, claims_in_short, metric_facts, ordered, wording

if TYPE_CHECKING:
    import xarray as xr


def open(path: str | os.PathLike[str]) -> "Run":  # noqa: A001 as `xarray.open_dataset` and `PIL.Image.open` do
    """Return the run in a folder.

    The tables of its analysis are compared with their seals, and a trial's files when the trial is looked at;
    `Run.check` compares all. InputError if the folder is none, is of another version, or was altered.

    >>> run = open("runs/plain")
    >>> run
    <Run plain of study tiny: 40 trials, 2 better>
    """
    folder = RunFolder.open(Path(path))
    check_tables(folder, (name for name in RESULTS if (folder.path / name).exists()))
    return Run(folder)


class Run:
    """A run: its samples, estimates and verdicts as tables, its charts, cells, trials and explanations.

    Tables are made anew at each call, so that a change of one changes nothing else. A run whose analysis is missing,
    because it was stopped, has a study and trials; its tables are an InputError that says how to go on.
    """

    def __init__(self, folder: RunFolder) -> None:
        """Take an opened run folder; `longlook.api.open` opens one."""
        self._folder = folder
        self._study = folder.study
        self._manifest = folder.manifest

    @property
    def path(self) -> Path:
        """The run folder."""
        return self._folder.path

    @property
    def page(self) -> Path:
        """The report of the run, a page for browsers."""
        return self.path / "report" / "index.html"

    @property
    def study(self) -> str:
        """The id of the study that was run."""
        return self._study.id

    @property
    def digest(self) -> str | None:
        """The digest over every value of every exact trial, 64 hexadecimal digits; None if no trial is exact."""
        found = self._manifest.get("results")
        return None if found is None else str(found["digest"])

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The content of `manifest.json`: programs with their digests, the host, the command."""
        return dict(self._manifest)

    @property
    def altered(self) -> Mapping[str, str]:
        """Trials that the analysis counted out because they were not as sealed: trial id → what is wrong."""
        return dict(self._manifest.get(ALTERED, {}))

    @property
    def is_analysed(self) -> bool:
        """Whether there are tables: a run that was stopped has none until `analyse` or `Study.run` made them."""
        return (self.path / CLAIMS).exists()

    @property
    def metrics(self) -> Mapping[str, str]:
        """The unit of each metric's column of `samples`, by the column's name."""
        return {column: metric.unit for column, metric in tables.metric_columns(self._study).items()}

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each contrast and cell with its verdict, in words for people.

        >>> run.verdicts[["cell", "size_bytes", "verdict", "effect"]]
            cell  size_bytes verdict effect
        0    5KB      5000.0  better  +66 %
        1  100KB    100000.0  better  +65 %
        """
        return tables.verdicts_frame(self._estimates, self._study)

    @property
    def estimates(self) -> pd.DataFrame:
        """A row for each contrast and cell with all numbers behind the verdict."""
        return tables.estimates_frame(self._table(ESTIMATES), self._study)

    @property
    def claims(self) -> pd.DataFrame:
        """A row for each published claim of the study, with our value and the result."""
        return tables.claims_frame(self._claims, self._study)

    @property
    def cells(self) -> pd.DataFrame:
        """A row for each cell that was planned, in the order of the study."""
        counts: dict[str, int] = {}
        for trial in self._folder.plan.trials:
            counts[trial.cell_id] = counts.get(trial.cell_id, 0) + 1
        return cells_table(self._study, counts)

    def samples(self, metrics: Iterable[str] | None = None) -> pd.DataFrame:
        """Return a row for each trial, with a column for each metric whose name ends with its unit.

        Values of failed trials are missing, never 0, and `reason` says why. `metrics` are names of metrics; default:
        all of the study. `df.attrs["units"]` has the units again.

        >>> run.samples(["page_load_time"]).groupby(["size", "arm"])["page_load_time_s"].median().round(3)
        size   arm
        5KB    tcp     0.109
               quic    0.037
        100KB  tcp     0.123
               quic    0.043
        Name: page_load_time_s, dtype: float64
        """
        return tables.wide(self._samples, self._study, None if metrics is None else list(metrics))

    def samples_long(self) -> pd.DataFrame:
        """Return a row for each trial and metric: `value` has the unit of its row, so choose one metric first."""
        return tables.long(self._samples, self._study)

    def to_xarray(self) -> "xr.Dataset":
        """Return the samples as a dataset: dimensions are the factors, `arm` and `round`; variables are the metrics.

        Variables have the names of the columns of `samples`, and their units as attributes. Numbers of levels are
        coordinates, such as `size_bytes`. A place without a trial is missing, and its `outcome` is empty. MachineError
        if xarray is not installed.

        >>> run.to_xarray()["page_load_time_s"].sizes
        Frozen({'size': 2, 'arm': 2, 'round': 10})
        """
        from longlook.api.arrays import dataset

        about = {"study": self.study, "title": self._study.title, "run": self.path.name, "results": self.digest or ""}
        return dataset(self.samples(), self._study, about)

    def heatmap(self, contrast: str | None = None) -> Figure:
        """Return the heatmap of a contrast, by default the study's first, as the report has it."""
        from longlook.report import contrast_heatmap

        chosen = self._contrast(contrast)
        return Figure(contrast_heatmap(self._content, chosen), f"heatmap of {chosen.name}")

    def cdf(self, cell: str, metric: str | None = None, arms: Iterable[str] | None = None) -> Figure:
        """Return the distribution of a metric over the rounds of a cell, a line for each arm.

        `metric` is the name of one; default: the metric of the study's figure. `arms` are names; default: all.
        """
        from longlook.report import cdf_chart

        cell_id = self._cell_id(cell)
        name = self._metric(metric)
        facts = metric_facts(self._study)[name]
        (column,) = tables.metric_columns(self._study, [name])
        table = self.samples([name])
        own = table[(table["cell"] == cell_id) & (table["round"] > 0) & table[column].notna()]
        labels = self._labels(arms)
        values = {label: own[own["arm"] == arm][column].tolist() for arm, label in labels.items()}
        if not any(values.values()):
            raise self._nothing(name)
        colours = self._colours(labels)
        chart = cdf_chart(values, colours, facts, f"{facts.label}, {self.cell(cell).label}")
        return Figure(chart, f"distribution of {name} in {cell_id}")

    def lines(self, metric: str | None = None, x: str | None = None, arms: Iterable[str] | None = None) -> Figure:
        """Return the medians of a metric along a factor, a line for each arm, a panel for each cell of the others.

        `x` is the name of the factor; default: the columns of the study's figure. The axis is its number if its levels
        have one.
        """
        from longlook.report import FactorAxis, lines_chart

        study, name = self._study, self._metric(metric)
        factor = study.figure.columns if x is None else x
        known = [each.name for each in study.factors]
        if factor not in known:
            raise InputError(f"no factor {factor!r}{nearest(factor, known)}", f"factors: {', '.join(known)}")
        numbers = [column.numbers for column in number_columns(study) if column.factor == factor]
        own = next(column.labels for column in factor_columns(study) if column.factor == factor)
        labels = self._labels(arms)
        points = [
            (level, labels[level.arm], ", ".join(label for other, label in level.cell.items() if other != factor))
            for level in arm_levels(self._samples, study, [name])
            if level.arm in labels and level.median is not None
        ]
        if not points:
            raise self._nothing(name)
        ran = {level.cell[factor] for level, *_ in points}
        axis = FactorAxis(
            factor, {label: numbers[0][label] if len(numbers) == 1 else None for label in own if label in ran}
        )
        chart = lines_chart(points, self._colours(labels), metric_facts(study)[name], axis)
        return Figure(chart, f"{name} by {factor}")

    def cell(self, name: str) -> Cell:
        """Return a cell by any of its names: its id, or its levels as `explain RUN CELL` takes them.

        >>> run.cell("5KB").trial("quic", round=3)
        <Trial of quic in round 3 of 5KB: ok>
        """
        return Cell(self._folder, self._cell_id(name), self)

    def trial(self, trial_id: str) -> Trial:
        """Return a trial by its id, as `samples` has it."""
        found = next((trial for trial in self._folder.plan.trials if trial.id == trial_id), None)
        if found is None:
            raise InputError(f"{self.path} plans no trial {trial_id}", "the column trial_id of samples() has them")
        return Trial(self._folder, found)

    def explain(
        self,
        *cells: str,
        contrast: str | None = None,
        budget: int | None = None,
        jobs: int | None = None,
        progress: bool = True,
    ) -> Explanations:
        """Say why an arm lost in these cells, by default in all in which one did: `longlook explain` as a function.

        It runs trials in which one thing is changed, which takes minutes for each cell; `budget` limits them. A stopped
        call loses no finished trial: the same call goes on. `answers` has what is known already.
        """
        from longlook.api.progress import shown
        from longlook.engines import make_engine
        from longlook.pipeline import ExplainRequest, RunOptions, explain_run, open_adopted
        from longlook.terminal import at_once

        folder = open_adopted(self.path)
        options = RunOptions(
            make_engine(folder.manifest["engine"]), jobs=at_once(jobs), command=("longlook.api", "explain")
        )
        with shown(progress) as observer, apart_from_script():
            found = explain_run(folder, ExplainRequest(cells, contrast, budget), options, observer)
        return Explanations._of(found)

    @property
    def answers(self) -> Explanations:
        """The explanations that the run folder has already, from `explain` here or from the command."""
        return Explanations._of(read_answers(self.path / FOLDER))

    def analyse(self, progress: bool = True) -> "Run":
        """Measure, judge and report again from the raw files, as `longlook report` does; return the run as it is now.

        A run that was stopped gets its tables of the trials that there are. InputError if no trial is finished, or if
        another process writes to the folder.
        """
        from longlook.api.progress import shown
        from longlook.pipeline import analyse_run

        with shown(progress) as observer, apart_from_script(), RunFolder.open(self.path) as folder:
            analyse_run(folder, observer)
        return open(self.path)

    def check(self) -> None:
        """Raise InputError if a file of any trial or table is not as it was sealed; each is read."""
        check_analysed(self._folder, (name for name in RESULTS if (self.path / name).exists()))

    @cached_property
    def _samples(self) -> pd.DataFrame:
        return self._table(SAMPLES)

    @cached_property
    def _estimates(self) -> list[Estimate]:
        dependences = self._table(DEPENDENCES) if (self.path / DEPENDENCES).exists() else None
        return estimates_from_table(self._table(ESTIMATES), dependences)

    @cached_property
    def _claims(self) -> list[ClaimResult]:
        self._refuse_without(CLAIMS)
        try:
            return [codec.decode(ClaimResult, item) for item in files.read_json(self.path / CLAIMS)]
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{self.path / CLAIMS} is damaged: {error}", "analyse() makes it again") from error

    @cached_property
    def _content(self) -> ReportContent:
        return ReportContent(
            study=self._study,
            samples=self._samples,
            estimates=self._estimates,
            claims=self._claims,
            manifest=self._manifest,
            metrics=metric_facts(self._study),
        )

    def _table(self, name: str) -> pd.DataFrame:
        self._refuse_without(name)
        try:
            return pd.read_parquet(files.regular(self.path / name))
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / name} cannot be read: {error}", "analyse() makes it again") from error

    def _refuse_without(self, name: str) -> None:
        if not (self.path / name).exists():
            raise InputError(
                f"{self.path} has no {name}: it was stopped, or is not analysed yet",
                f"study.run(out={str(self.path)!r}) goes on with it; run.analyse() takes the trials that there are",
            )

    def _cell_id(self, name: str) -> str:
        found = find_cells(self._folder.plan.trials, [name])
        if len(found) != 1:
            raise InputError(f"{name} names {len(found)} cells", f"name one of {', '.join(found)}")
        return found[0]

    def _contrast(self, name: str | None) -> Contrast:
        known = {contrast.name: contrast for contrast in self._study.contrasts}
        if name is None and self._study.first_contrast is not None:
            return self._study.first_contrast
        if name is None or name not in known:
            what = f"no contrast {name!r}{nearest(name, list(known))}" if name else "a scenario compares nothing"
            raise InputError(f"study {self.study}: {what}", f"its contrasts: {'; '.join(known) or 'none'}")
        return known[name]

    def _metric(self, name: str | None) -> str:
        chosen = self._study.figure_metric if name is None else name
        tables.metric_columns(self._study, [chosen])  # InputError if the study does not measure it
        return chosen

    def _nothing(self, metric: str) -> InputError:
        """Return the error of a chart without a value, with the reason of the first sample that lacks one."""
        own = self._samples[self._samples["metric"] == metric]["reason"].dropna()
        why = f" ({own.iloc[0]})" if len(own) else ""
        return InputError(f"no trial here has a value of {metric}{why}", "choose another metric, cell or arm")

    def _labels(self, arms: Iterable[str] | None) -> dict[str, str]:
        """Return the labels of arms by name; InputError for an arm that the study does not have."""
        known = [arm.name for arm in self._study.arms]
        chosen = known if arms is None else list(arms)
        for name in chosen:
            if name not in known:
                raise InputError(f"no arm {name!r}{nearest(name, known)}", f"arms: {', '.join(known)}")
        return {name: self._content.short_label(name) for name in chosen}

    def _colours(self, labels: Mapping[str, str]) -> dict[str, str]:
        from longlook.report import curve_colours

        colours = curve_colours([arm.name for arm in self._study.arms], self._content.compared_first)
        return {label: colours[name] for name, label in labels.items()}

    def _state(self) -> str:
        trials = f"{self._manifest.get('trials', '?')} trials"
        if not self.is_analysed:
            return f"{trials} planned, not analysed yet"
        verdicts = [str(item.verdict) for item in self._estimates]
        counts = [f"{verdicts.count(each)} {each}" for each in wording.SYMBOLS if each in verdicts]
        out = [f"{len(self.altered)} altered and counted out"] if self.altered else []
        return ", ".join([trials, *counts, *out])

    def __repr__(self) -> str:
        return f"<Run {self.path.name} of study {self.study}: {self._state()}>"

    def _repr_html_(self) -> str:
        study = self._study
        parts = [html.heading(study.title), html.paragraph(study.question)]
        if not self.is_analysed:
            parts.append(html.paragraph(f"{self._state()}: study.run(out={str(self.path)!r}) goes on"))
            return html.block(parts)
        several = len(study.contrasts) > 1
        header = [*(["contrast"] if several else []), *(factor.name for factor in study.factors)]
        reasons = ["reason"] if any(item.reason for item in self._estimates) else []
        header += ["baseline", "contender", "effect", "interval", "verdict", *reasons]
        rows = [
            [
                *([html.text(item.contrast)] if several else []),
                *(html.text(item.cell.get(factor.name, "")) for factor in study.factors),
                *(html.text(wording.quantity(level, item.unit)) for level in item.levels),
                html.text(wording.effect_of(item)),
                html.text(wording.interval_in_unit(item)),
                html.verdict(item.verdict),
                *(html.text(item.reason or "") for _ in reasons),
            ]
            for item in ordered(study, self._estimates)
        ]
        first = header.index("baseline", len(study.factors))
        labels = self._content.short_label
        pairs = {(labels(item.baseline), labels(item.contender)) for item in self._estimates}
        if len(pairs) == 1:
            header[first : first + 2] = next(iter(pairs))
        parts.append(html.table(header, rows, frozenset(range(first, first + 4))))
        parts.append(html.paragraph("+ means that the contender is better."))
        if self._claims:
            parts.append(html.paragraph(f"Published claims: {claims_in_short(self._claims)}."))
        end = f"{self._state()}; results {self.digest[:16]}" if self.digest else self._state()
        return html.block([*parts, html.paragraph(f"{end}; {self.path}")])
