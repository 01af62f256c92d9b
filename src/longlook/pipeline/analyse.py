"""Every stage after the engine, from the files of a run folder alone; each stage leaves its own files there."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.analysis import (
    Integrated,
    MeasuredAttempt,
    ResultsDigest,
    Statistics,
    arm_levels,
    attribute_bottlenecks,
    dependences_table,
    digest_of_results,
    estimates_table,
    filled_tables,
    heterogeneity_table,
    integrate,
    judge,
    judge_expectations,
    judge_hypotheses,
    loss_effects,
    measure_all,
    metrics_by_arm,
    population_curves,
    said,
    samples_table,
    spread_table,
    statistics_of,
    unmeasured,
)
from longlook.core import (
    DEPENDENCES,
    SAMPLES,
    ClaimResult,
    Estimate,
    InputError,
    JudgedExpectation,
    JudgedHypothesis,
    Outcome,
    RunFolder,
    Study,
    codec,
    nearest,
    write_json,
)
from longlook.explain import Wanted, find_cells
from longlook.pipeline import budget
from longlook.pipeline.answers import FOLDER, read_answers
from longlook.pipeline.evidence import ALTERED, note_altered
from longlook.pipeline.inside import collected, write_inside_pages
from longlook.pipeline.options import Observer
from longlook.pipeline.registration import why_unregistered
from longlook.pipeline.result_files import (
    CLAIMS,
    ESTIMATES,
    EXPECTATIONS,
    HETEROGENEITY,
    HYPOTHESES,
    PATTERNS,
    POPULATION_TABLE,
    RESULTS,
    TAILS,
    WINS,
)
from longlook.pipeline.shards import which_part
from longlook.pipeline.strata import arrived_in, read_strata
from longlook.report import (
    Publication,
    PublicationRequest,
    ReportContent,
    inside_pages,
    metric_facts,
    publish,
    write_report,
)
from longlook.run import Verification
from longlook.run import load as load_verification
from longlook.study import Release
from longlook.timeline import collector_costs, in_doubt, not_recorded

PUBLISH = "publish"
"""The folder of a run for figures, tables and references of a publication."""


@dataclass(frozen=True)
class Result:
    """The outcome of a run or of a report."""

    path: Path
    study: Study
    estimates: list[Estimate]
    claims: list[ClaimResult]
    report: Path
    outcomes: Mapping[Outcome, int]  # of every attempt
    verification: Verification | None = None  # of this session or an earlier one
    results_digest: ResultsDigest | None = None  # of the exact trials
    inside: tuple[Path, ...] = ()  # pages about the inside of cells
    altered: Mapping[str, str] = field(default_factory=dict)  # trials counted out: not as they were sealed, and why
    expectations: Sequence[JudgedExpectation] = ()  # of the study, in each trial
    hypotheses: Sequence[JudgedHypothesis] = ()  # of the study, in each cell
    unmeasured: str = ""  # which settings and knobs nothing in the trials measured
    published: Publication | None = None  # figures of another style, tables in LaTeX and references


def analyse_run(
    folder: RunFolder, observer: Observer, wanted: Wanted | None = None, publication: PublicationRequest | None = None
) -> Result:
    """Measure, estimate, judge and report a run; `wanted` are the cells whose inside is drawn too.

    With a `publication` the run folder gets `publish/`, too. Raises InputError if the folder holds no finished trial.
    """
    measured = measure(folder, observer)
    digest = write_digest(folder, measured)
    integrated = write_samples(folder, measured)
    samples = integrated.samples
    tables = write_tables(folder, measured)
    study = folder.study
    for part in filter(None, _parts(folder.manifest)):
        observer.say(part)
    statistics = statistics_of(samples, folder.path / SAMPLES, study, metrics_by_arm(study))
    estimates = write_estimates(folder, measured, statistics)
    write_spread(folder, statistics)
    tables["population"] = write_population(folder, samples)
    claims = write_claims(folder, statistics, estimates)
    expectations = write_expectations(folder)
    hypotheses = write_hypotheses(folder, estimates)
    folder.seal(RESULTS)
    content = replace(
        report_content(folder, integrated, tables, statistics, estimates, claims, expectations, wanted),
        hypotheses=hypotheses,
        unregistered=why_unregistered(folder) if study.hypotheses else "",
    )
    for each in content.in_doubt:
        observer.say(f"{content.arm_label(each.arm)}, in {each.trials} trials: {each.sentence}")
    pages = write_inside_pages(folder, content, wanted, observer.say) if wanted is not None else []
    page = write_report(folder.path / "report", content)
    published = None if publication is None else _published(folder, content, publication, samples)
    outcomes = Counter(entry.run.outcome for entry in measured)
    return Result(
        path=folder.path,
        study=folder.study,
        estimates=estimates,
        claims=claims,
        report=page,
        outcomes=outcomes,
        verification=content.verification,
        results_digest=digest,
        inside=tuple(pages),
        altered=folder.manifest.get(ALTERED, {}),
        expectations=expectations,
        hypotheses=hypotheses,
        unmeasured=content.unmeasured,
        published=published,
    )


def _parts(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Return in sentences which part of a study a run is, and what its budget left out."""
    return which_part(manifest), budget.spent(manifest)


def _published(
    folder: RunFolder, content: ReportContent, asked: PublicationRequest, samples: pd.DataFrame
) -> Publication:
    """Write the figures, tables and references of a publication; InputError if the study has no such metric."""
    metric = asked.metric or folder.study.figure_metric
    if metric not in folder.study.metrics:
        known = list(folder.study.metrics)
        raise InputError(f"the run has no metric {metric!r}{nearest(metric, known)}", f"metrics: {', '.join(known)}")
    if asked.kinds:
        content = replace(content, levels=[*content.levels, *arm_levels(samples, folder.study, [metric])])
    return publish(folder.path / PUBLISH, content, asked.style, asked.kinds, metric)


def measure(folder: RunFolder, observer: Observer) -> list[MeasuredAttempt]:
    """Measure every attempt, and write the timelines and events that are missing or were altered.

    Trials that are not as they were sealed are counted out: they are invalid, which the manifest notes.
    """
    measured = measure_all(folder, folder.study, observer.measuring)
    note_altered(folder, observer)
    if not measured:
        again = f"longlook run {folder.study.id} --resume {folder.path}"
        raise InputError(f"{folder.path} holds no finished trial", again)
    return measured


def write_digest(folder: RunFolder, measured: Sequence[MeasuredAttempt]) -> ResultsDigest | None:
    """Note the digest of all exact results in the manifest; None if no trial is exact."""
    found = digest_of_results((entry.run, entry.values) for entry in measured)
    if found is not None:
        folder.note(results=codec.encode(found))
    return found


def write_samples(folder: RunFolder, measured: Sequence[MeasuredAttempt]) -> Integrated:
    """Write `samples.parquet`, a row for each attempt and metric, and `strata.parquet`, if losses are integrated: then
    the samples have a row for each round and metric, and that table has the attempts. Return both.
    """
    samples = samples_table(folder.study, measured)
    integrated = integrate(samples, (entry.trial for entry in measured), read_strata(folder), arrived_in(measured))
    _write(folder, PATTERNS, integrated.patterns if len(integrated.patterns) else None)
    integrated.samples.to_parquet(folder.path / SAMPLES, index=False)
    return integrated


def write_tables(folder: RunFolder, measured: Sequence[MeasuredAttempt]) -> dict[str, pd.DataFrame | None]:
    """Write the tables of all trials that have a file, and return all by name; None if a table has no rows."""
    tables = list(filled_tables(folder.trials, [(entry.trial, entry.tables) for entry in measured]))
    for table in tables:
        if table.file is not None:
            _write(folder, table.file, table.rows)
    return {table.name: table.rows for table in tables}


def _write(folder: RunFolder, name: str, table: pd.DataFrame | None) -> None:
    """Write a table of the run folder; without rows there is no such file, and one of an earlier analysis goes."""
    path = folder.path / name
    path.unlink(missing_ok=True)
    if table is not None:
        table.to_parquet(path, index=False)


def write_estimates(folder: RunFolder, measured: Sequence[MeasuredAttempt], statistics: Statistics) -> list[Estimate]:
    """Write `estimates.parquet`: every contrast in every cell, with its verdict; where rounds drew settings also
    `dependences.parquet`: how each effect depends on each of them.
    """
    attempts = [(entry.trial, entry.run) for entry in measured]
    study = folder.study
    estimates = attribute_bottlenecks(statistics.estimates, study, attempts, folder.manifest["engine"])
    estimates_table(estimates).to_parquet(folder.path / ESTIMATES, index=False)
    dependences = dependences_table(estimates)
    _write(folder, DEPENDENCES, dependences if len(dependences) else None)
    return estimates


def write_spread(folder: RunFolder, statistics: Statistics) -> None:
    """Write what single estimates hide, if the rounds were fixed: `wins.parquet` and `tails.parquet`, the differences
    between rounds, and `heterogeneity.parquet`, the test of whether effects differ between the levels of a factor.
    """
    for name, found in ((WINS, statistics.wins), (TAILS, statistics.tails)):
        _write(folder, name, spread_table(found) if found else None)
    tested = statistics.heterogeneity
    _write(folder, HETEROGENEITY, heterogeneity_table(tested) if tested else None)


def write_population(folder: RunFolder, samples: pd.DataFrame) -> pd.DataFrame | None:
    """Write `population.parquet`, if the study has a population: its share below each value of the figure's metric,
    for each arm and the levels of the other factors.
    """
    found = population_curves(samples, folder.study, folder.study.figure_metric)
    _write(folder, POPULATION_TABLE, found)
    return found


def write_claims(folder: RunFolder, statistics: Statistics, estimates: list[Estimate]) -> list[ClaimResult]:
    """Write `claims.json`: every published claim of the study beside what was found."""
    study = folder.study
    claims = judge(study.claims, estimates, study, list(statistics.levels))
    write_json(folder.path / CLAIMS, codec.encode(claims))
    return claims


def write_expectations(folder: RunFolder) -> list[JudgedExpectation]:
    """Write `expectations.json`, if the study has expectations: each in every trial that it is about."""
    path = folder.path / EXPECTATIONS
    path.unlink(missing_ok=True)
    judged = judge_expectations(folder)
    if folder.study.expectations:
        write_json(path, codec.encode(judged))
    return judged


def write_hypotheses(folder: RunFolder, estimates: Sequence[Estimate]) -> list[JudgedHypothesis]:
    """Write `hypotheses.json`, if the study has hypotheses: each in every cell that it is about."""
    path = folder.path / HYPOTHESES
    path.unlink(missing_ok=True)
    judged = judge_hypotheses(folder.study, estimates)
    if folder.study.hypotheses:
        write_json(path, codec.encode(judged))
    return judged


def report_content(
    folder: RunFolder,
    integrated: Integrated,
    tables: Mapping[str, pd.DataFrame | None],
    statistics: Statistics,
    estimates: list[Estimate],
    claims: list[ClaimResult],
    expectations: Sequence[JudgedExpectation],
    wanted: Wanted | None,
) -> ReportContent:
    """Gather what the report draws; it links the pages of cells that exist and the pages that are `wanted`."""
    study, manifest, trials = folder.study, folder.manifest, folder.plan.trials
    arms = [arm.name for arm in study.arms]
    traces = collected(folder, trials)
    drawn = frozenset(find_cells(trials, wanted.cells)) if wanted is not None else frozenset()
    return ReportContent(
        study=study,
        samples=integrated.samples,
        estimates=estimates,
        claims=claims,
        manifest=manifest,
        metrics=metric_facts(study),
        tables=tables,
        losses=loss_effects(integrated.patterns, read_strata(folder), study) if len(integrated.patterns) else None,
        verification=load_verification(folder),
        wins=statistics.wins,
        tails=statistics.tails,
        heterogeneity=statistics.heterogeneity,
        levels=statistics.drawn_levels,
        releases={arm: codec.decode(Release, release) for arm, release in manifest.get("releases", {}).items()},
        inside=inside_pages(folder.path / "report") | drawn,
        costs=collector_costs(traces, arms),
        not_recorded=not_recorded(traces, arms),
        in_doubt=in_doubt(traces, arms),
        answers=read_answers(folder.path / FOLDER),
        unmeasured=said(unmeasured(trials)),
        expectations=expectations,
        part=" ".join(filter(None, _parts(manifest))),
    )
