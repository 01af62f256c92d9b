"""Contents of reports for tests: real studies, plans, statistics and judgements over made-up measurements.

Measurements follow a crude model of a page load (handshake, slow start, line rate) with a published-like advantage for
QUIC, seeded noise, and now and then a failed, timed-out or invalid attempt.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.claims.judge import judge
from longlook.analysis.measure import MeasuredAttempt
from longlook.analysis.samples import samples_table
from longlook.analysis.stats import arm_levels, estimate
from longlook.core import registry
from longlook.core.model import (
    TREND,
    Analysis,
    Arm,
    Capture,
    Claim,
    Contrast,
    Factor,
    Figure,
    Level,
    Outcome,
    Run,
    Study,
    Trial,
)
from longlook.report.content import MetricFacts, ReportContent
from longlook.study.contrast_filter import with_contrasts
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from longlook.study.releases import Release
from tests.data.samples import around, draws

RTT_S = 0.036
SIZES = {"5KB": 5e3, "10KB": 1e4, "100KB": 1e5, "200KB": 2e5, "500KB": 5e5, "1MB": 1e6, "10MB": 1e7}

MANIFEST: Mapping[str, Any] = {
    "schema_version": 2,
    "study": "kakhki2017-fig6a",
    "plan_hash": "3f2c9a7be1d04c55",
    "trials": 420,
    "engine": "live",
    "command": "longlook run kakhki2017-fig6a --rounds 10",
    "programs": {"quic-go@0.59.0": "9b" * 32, "link": "04" * 32},
    "host": {
        "kernel": "Linux 6.18.5",
        "machine": "x86_64",
        "cpu": "A processor with two cores",
        "cpus": 2,
        "memory_kib": 8147340,
        "python": "3.11.2",
        "longlook": "0.1.0",
        "libraries": {"numpy": "2.4.6", "scipy": "1.17.1"},
    },
    "started_unix_s": 1795238400,
    "finished_unix_s": 1795245960,
}


def paper_content(study_id: str = "kakhki2017-fig6a", only: Sequence[str] = (), faults: bool = True) -> ReportContent:
    """A report on the paper's own comparison of a heatmap study, as if it had been run with `--around none`."""
    study = replace(with_contrasts(find_study(study_id), ["contrast=quic vs tcp"]), around={})
    plan = make_plan(study, only)
    entries = list(_store(study, plan.trials, faults=faults))
    samples = samples_table(study, entries)
    estimates = estimate(samples, study)
    metrics = {name: registry.get("metrics", name) for name in study.metrics}
    return ReportContent(
        study=study,
        samples=samples,
        estimates=estimates,
        claims=judge(study.claims, estimates, study),
        manifest={**MANIFEST, "study": study.id, "plan_hash": plan.hash, "trials": len(plan.trials)},
        metrics={name: MetricFacts(metric.label, metric.unit, metric.better) for name, metric in metrics.items()},
        tables={"goodput": _goodput(entries)},
    )


def _store(study: Study, trials: Sequence[Trial], *, faults: bool) -> Iterator[MeasuredAttempt]:
    published = {tuple(sorted(claim.cell.items())): claim.effect_pct for claim in study.claims}
    for trial in trials:
        random = np.random.default_rng([trial.seed % 2**32, trial.round, len(trial.arm)])
        if faults and random.random() < 0.01:
            yield MeasuredAttempt(trial, _run(trial, Outcome.INVALID, "a gap of 14.2 ms in the router's loop", 1), {})
            yield MeasuredAttempt(trial, _run(trial, Outcome.OK, None, 2), _values(trial, published, random))
        elif faults and random.random() < 0.012:
            yield MeasuredAttempt(trial, _run(trial, Outcome.TIMED_OUT, "the client was not done after 60 s", 1), {})
        else:
            yield MeasuredAttempt(trial, _run(trial, Outcome.OK, None, 1), _values(trial, published, random))


def _run(trial: Trial, outcome: Outcome, reason: str | None, attempt: int) -> Run:
    return Run(trial.id, outcome, reason, None, attempt, "live", 0, 0.2, 1.0, 0.1, {}, {}, {}, {}, {})


def _rate_bps(trial: Trial) -> float:
    return next((float(stage.parameters["rate_bps"]) for stage in trial.link.down if stage.kind == "rate"), 1e8)


def _load_time_s(trial: Trial) -> float:
    size = next((SIZES[level] for level in trial.cell.values() if level in SIZES), 1e6)
    return 2 * RTT_S + RTT_S * max(0.0, math.log2(size / 15e3 + 1)) + size * 8 / _rate_bps(trial)


def _values(
    trial: Trial, published: Mapping[Any, float | None], random: np.random.Generator
) -> dict[str, float | None]:
    effect = published.get(tuple(sorted(trial.cell.items()))) or 0.0
    load_s = _load_time_s(trial)
    if trial.protocol == "h3":
        load_s *= 1 - 0.8 * effect / 100
    load_s *= float(np.exp(random.normal(0, 0.02)))
    size = next((SIZES[level] for level in trial.cell.values() if level in SIZES), 1e6)
    return {
        "page_load_time": load_s,
        "time_to_first_byte": (1 if trial.protocol == "h3" else 2) * RTT_S * float(np.exp(random.normal(0, 0.01))),
        "handshake_time": (1 if trial.protocol == "h3" else 2) * RTT_S,
        "throughput": size * 8 / load_s / 1e6,
        "goodput": size * 8 / load_s / 1e6,
        "client_cpu": 0.012 + size * 2e-8,
        "server_cpu": 0.008 + size * 1e-8,
        "packet_loss": 0.0,
        "queue_delay": 3.1,
    }


def _goodput(entries: Sequence[MeasuredAttempt]) -> pd.DataFrame:
    frames = []
    for entry in entries:
        trial, values = entry.trial, entry.values
        if entry.run.outcome is not Outcome.OK:
            continue
        time_s = np.arange(0.0, (values["page_load_time"] or 0.0) + 0.1, 0.1)
        random = np.random.default_rng([trial.seed % 2**32, trial.round, 7])
        ramp = np.minimum(1.0, (time_s + 0.05) / 0.4) * (values["throughput"] or 0.0)
        mbps = ramp * np.exp(random.normal(0, 0.05, len(time_s)))
        columns = {"trial_id": trial.id, "arm": trial.arm, "cell_id": trial.cell_id, "round": trial.round}
        frames.append(pd.DataFrame({**columns, "time_s": time_s, "mbps": mbps}))
    return pd.concat(frames, ignore_index=True)


def small_study(**changes: Any) -> Study:
    """Two arms, one factor of two levels."""
    study = Study(
        id="small",
        title="Small",
        question="Does it hold?",
        arms=(Arm("tcp", "TCP", {}), Arm("quic", "QUIC", {})),
        factors=(Factor("rate", (Level("10Mbit", {}), Level("50Mbit", {}))),),
        exclude=(),
        settings={},
        rounds=10,
        seed=1,
        timeout_s=10.0,
        retries_when_invalid=1,
        metrics=("page_load_time",),
        contrasts=(Contrast("quic vs tcp", "tcp", "quic", "page_load_time"),),
        claims=(),
        analysis=Analysis(),
        capture=Capture(),
        figure=Figure("rate", ()),
    )
    return replace(study, **changes)


Values = Mapping[tuple[str, ...], Mapping[str, Sequence[float | None]]]
"""Level labels in the order of the factors → arm → a value per round, None where the attempt failed."""


def small_content(values: Values, study: Study | None = None, claims: Sequence[Claim] = ()) -> ReportContent:
    """A report on a study with values given outright."""
    study = replace(study or small_study(), claims=tuple(claims))
    rows = [
        _small_row(study, key, arm, number, value, metric)
        for key, arms in values.items()
        for arm, series in arms.items()
        for number, value in enumerate(series)
        for metric in study.metrics
    ]
    columns = [*_COLUMNS, *(f"factor.{factor.name}" for factor in study.factors)]
    samples = pd.DataFrame(rows, columns=columns).astype({"value": "float64"})
    estimates = estimate(samples, study) if len(samples) else []
    metrics = {name: registry.get("metrics", name) for name in study.metrics}
    return ReportContent(
        study=study,
        samples=samples,
        estimates=estimates,
        claims=judge(study.claims, estimates, study),
        manifest={**MANIFEST, "study": study.id},
        metrics={name: MetricFacts(metric.label, metric.unit, metric.better) for name, metric in metrics.items()},
    )


def with_tables(content: ReportContent, **tables: pd.DataFrame | None) -> ReportContent:
    """Return the content with other tables of these names."""
    return replace(content, tables={**content.tables, **tables})


def cliff_content(rounds: int = 20) -> ReportContent:
    """Two cells whose rounds draw five settings: at 10 Mbit/s QUIC gains less below 98 KB, at 50 Mbit/s it does not."""
    random = np.random.default_rng(6)
    values: dict[tuple[str, ...], Mapping[str, Sequence[float | None]]] = {}
    drawn = {}
    for seed, rate in enumerate(("10Mbit", "50Mbit"), start=1):
        drawn[rate] = draws(rounds, seed)
        sizes = drawn[rate]["workload.object_bytes"]
        shares = [0.54 if rate == "10Mbit" and size < 98e3 else 0.48 for size in sizes]
        tcp = [0.25 * float(np.exp(random.normal(0, 0.02))) for _ in range(rounds)]
        quic = [
            load_s * share * float(np.exp(random.normal(0, 0.004))) for load_s, share in zip(tcp, shares, strict=True)
        ]
        values[rate,] = {"tcp": tcp, "quic": quic}
    content = small_content(values, small_study(rounds=rounds))
    parts = [around(rows, drawn[str(rate)]) for rate, rows in content.samples.groupby("factor.rate", sort=False)]
    samples = pd.concat(parts, ignore_index=True)
    return replace(content, samples=samples, estimates=estimate(samples, content.study))


def trend_content() -> ReportContent:
    """Five releases over two factors: the third is slower where there is loss, the fifth faster everywhere."""
    released = {"0.20.1": "2021-04-03", "0.31.1": "2022-12-08", "0.40.1": "2023-12-13", "0.48.2": "2024-11-26",
                "0.65.0": "2026-11-03"}  # fmt: skip
    names = list(released)
    study = small_study(
        title="Five releases",
        arms=tuple(Arm(name, name, {}) for name in names),
        factors=(
            Factor("size", tuple(Level(label, {}) for label in ("10KB", "100KB", "1MB"))),
            Factor("loss", (Level("0%", {}), Level("1%", {}))),
        ),
        contrasts=tuple(
            Contrast(f"version by version: {before} → {after}", before, after, "page_load_time", "version by version")
            for before, after in pairwise(names)
        ),
        figure=Figure("size", ("loss",), TREND),
    )
    values = {}
    for size, load_s in (("10KB", 0.11), ("100KB", 0.26), ("1MB", 1.1)):
        for loss in ("0%", "1%"):
            random = np.random.default_rng([len(size), len(loss), round(1000 * load_s)])
            factors = (1.0, 1.005, 1.25 if loss == "1%" else 1.0, 1.22 if loss == "1%" else 1.001, 0.93)
            values[size, loss] = {
                name: [load_s * factor * float(np.exp(random.normal(0, 0.02))) for _ in range(10)]
                for name, factor in zip(names, factors, strict=True)
            }
    content = small_content(values, study)
    return replace(
        content,
        levels=arm_levels(content.samples, study),
        releases={name: Release(f"quic-go@{name}", date) for name, date in released.items()},
    )


_COLUMNS = (
    "study", "cell", "arm", "round", "seed", "trial_id", "attempt", "metric", "value", "unit", "outcome", "reason",
)  # fmt: skip


def _small_row(
    study: Study, key: tuple[str, ...], arm: str, number: int, value: float | None, metric: str
) -> dict[str, Any]:
    return {
        "study": study.id,
        "cell": "-".join(("id", *key)),
        "arm": arm,
        "round": number,
        "seed": number,
        "trial_id": "-".join((arm, *key, str(number))),
        "attempt": 1,
        "metric": metric,
        "value": value,
        "unit": registry.get("metrics", metric).unit,
        "outcome": "ok" if value is not None else "failed",
        "reason": None if value is not None else "the server died with signal 11",
        **{f"factor.{factor.name}": level for factor, level in zip(study.factors, key, strict=True)},
    }
