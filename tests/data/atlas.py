"""Runs of shipped studies with made-up values, as an atlas finds them: whole, ended and analysed."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from longlook.analysis.claims.judge import judge
from longlook.analysis.measure import MeasuredAttempt
from longlook.analysis.samples import samples_table
from longlook.analysis.stats import arm_levels, estimate
from longlook.core.model import Outcome, Run, Study
from longlook.report.content import ReportContent, metric_facts
from longlook.study.plan import make_plan
from tests.data.claims import write_run
from tests.data.report import MANIFEST


def made_up_run(path: Path, study: Study, digest: str = "5b" * 32) -> Path:
    """A run in which every metric of every arm has a level of its own, a little noise, and no other meaning.

    Only metrics of contrasts and claims are measured: the page shows no others.
    """
    wanted = {item.metric for item in study.contrasts}
    wanted |= {claim.expected.metric for claim in study.claims if claim.expected is not None}
    still = replace(study, around={}, metrics=tuple(name for name in study.metrics if name in wanted))
    plan = make_plan(still)
    entries = []
    for trial in plan.trials:
        random = np.random.default_rng([trial.seed % 2**32, trial.round, len(trial.arm)])
        levels = {name: 10 + 3 * (sum(map(ord, trial.arm + trial.cell_id + name)) % 7) for name in still.metrics}
        run = Run(trial.id, Outcome.OK, None, None, 1, "virtual", 0, 0.2, 1.0, 0.1, {}, {}, {}, {}, {})
        noisy = {name: level * float(np.exp(random.normal(0, 0.05))) for name, level in levels.items()}
        entries.append(MeasuredAttempt(trial, run, {**noisy}))
    samples = samples_table(still, entries)
    estimates = estimate(samples, still)
    manifest = {**MANIFEST, "study": study.id, "engine": "virtual", "trials": len(plan.trials)}
    content = ReportContent(
        study=still,
        samples=samples,
        estimates=estimates,
        claims=judge(study.claims, estimates, study, arm_levels(samples, still)),
        manifest={**manifest, "results": {"trials": len(plan.trials), "digest": digest}},
        metrics=metric_facts(still),
    )
    write_run(path, content, report=False)
    (path / "report").mkdir()
    (path / "report" / "index.html").write_text("<title>a report</title>")
    return path
