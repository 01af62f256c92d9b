"""Run folders for tests of what several runs say together: real studies over made-up measurements."""

from collections.abc import Sequence
from pathlib import Path

from longlook.analysis.stats import estimates_table
from longlook.core import codec
from longlook.core.run_folder import RunFolder, write_json
from longlook.report.content import ReportContent
from longlook.report.write import write_report
from longlook.study.plan import make_plan
from tests.data.report import paper_content


def write_run(path: Path, content: ReportContent, only: Sequence[str] = (), *, report: bool = True) -> Path:
    """A run folder as the analysis leaves it, without its trials."""
    plan = make_plan(content.study, only)
    RunFolder.create(path, content.study, plan, {**content.manifest, "plan_hash": plan.hash})
    content.samples.to_parquet(path / "samples.parquet", index=False)
    estimates_table(content.estimates).to_parquet(path / "estimates.parquet", index=False)
    write_json(path / "claims.json", codec.encode(content.claims))
    if report:
        write_report(path / "report", content)
    return path


def paper_run(path: Path, study: str, only: Sequence[str] = (), *, report: bool = True) -> Path:
    """A run of a study of the catalogue."""
    return write_run(path, paper_content(study, only, faults=False), only, report=report)
