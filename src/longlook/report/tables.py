"""The report's tables as data frames, for CSV."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.core.model import ArmLevel, ClaimResult, Estimate
from longlook.report.content import ReportContent
from longlook.report.contrasts.cells import outcome_rows
from longlook.report.layout import ordered


def write_tables(folder: Path, content: ReportContent) -> list[Path]:
    """Write every table as CSV in full precision; returns the files in the order in which the page lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "estimates": pd.DataFrame([_estimate(content, item) for item in ordered(content.study, content.estimates)]),
        "samples": content.samples,
        "outcomes": pd.DataFrame(_outcomes(content)),
    }
    if content.levels:
        tables["levels"] = pd.DataFrame([_level(content, item) for item in content.levels])
    if content.claims:
        tables["claims"] = pd.DataFrame([_claim(content, item) for item in content.claims])
    paths = []
    for name, table in tables.items():
        path = folder / f"{name}.csv"
        table.to_csv(path, index=False, lineterminator="\n")
        paths.append(path)
    return paths


def _estimate(content: ReportContent, item: Estimate) -> dict[str, Any]:
    row = {key: value for key, value in asdict(item).items() if key not in ("cell", "outcomes")}
    factors = {f"factor.{factor.name}": item.cell.get(factor.name) for factor in content.study.factors}
    return {**factors, **row, "verdict": str(item.verdict)}


def _level(content: ReportContent, item: ArmLevel) -> dict[str, Any]:
    row = {key: value for key, value in asdict(item).items() if key != "cell"}
    factors = {f"factor.{factor.name}": item.cell.get(factor.name) for factor in content.study.factors}
    release = content.releases.get(item.arm)
    return {"released": release.released if release else None, **factors, **row}


def _outcomes(content: ReportContent) -> list[dict[str, Any]]:
    rows = []
    for cell, samples in content.samples.groupby("cell", sort=False):
        for row in outcome_rows([arm.name for arm in content.study.arms], samples):
            reasons = "; ".join(f"{count} × {reason}" for reason, count in row.reasons)
            rows.append({"cell": cell, "arm": row.arm, **row.counts, "reasons": reasons})
    return rows


def _claim(content: ReportContent, item: ClaimResult) -> dict[str, Any]:
    claim, estimate = item.claim, item.estimate
    return {
        "claim": claim.id,
        "source": claim.source,
        "contrast": claim.contrast,
        "arm": claim.expected.arm if claim.expected else None,
        "metric": claim.expected.metric if claim.expected else None,
        "published_level": claim.expected.published if claim.expected else None,
        "level": item.level.median if item.level else None,
        "level_low": item.level.low if item.level else None,
        "level_high": item.level.high if item.level else None,
        **{f"factor.{factor.name}": claim.cell.get(factor.name) for factor in content.study.factors},
        "published_pct": claim.effect_pct,
        "published_significant": claim.significant,
        "published_clipped_at_pct": claim.clipped_at_pct,
        "effect_pct": estimate.effect_pct if estimate else None,
        "ci_low_pct": estimate.ci_low_pct if estimate else None,
        "ci_high_pct": estimate.ci_high_pct if estimate else None,
        "verdict": str(estimate.verdict) if estimate else None,
        "result": item.result,
        "reason": item.reason,
    }
