"""`[[claims]]` of a study file: tables of published values become one Claim a value, and each is checked."""

import re
from collections.abc import Mapping

from longlook.core import PUBLISHED, READ_AS, Claim, ExpectedLevel, Problems, Study, Verdict, allowed
from longlook.study.catalogue import Catalogue
from longlook.study.schema import ClaimTable, ExpectedTable

NOT_SIGNIFICANT = "ns"
_BRACES = re.compile(r"\{([^{}]*)\}")
_ORIGINS = {PUBLISHED: PUBLISHED, "derived": "derived", "read_as": READ_AS}
"""Key of a level, or `origin` of effects → `Claim.origin`."""
_DIRECTIONS = {"+": Verdict.BETTER, "-": Verdict.WORSE}


def claims(entry: ClaimTable, problems: Problems) -> list[Claim]:
    """Return one claim for each value of a table; add what the table lacks to `problems`."""
    where = f"claims.{entry.id}"
    if entry.arm is not None:
        for key in ("contrast", "rows", "effect_pct"):
            if getattr(entry, key):
                problems.add(f"{where}.{key}", "belongs to claims about a contrast, and this one is about an arm")
        if entry.origin is not None:
            message = f"belongs to claims about a contrast; of a level its key tells it: {', '.join(_ORIGINS)}"
            problems.add_value(f"{where}.origin", entry.origin, message)
        if not entry.metrics:
            problems.add(f"{where}.metrics", "missing: name.at_least or name.at_most for each metric of the arm")
        return _levels(entry, entry.arm, problems)
    for key in ("contrast", "rows", "columns", "effect_pct"):
        if not getattr(entry, key):
            problems.add(f"{where}.{key}", "missing, or arm and metrics for a claim about the level of one arm")
    if entry.contrast and entry.rows and entry.columns:
        return _effects(entry, entry.contrast, entry.rows, entry.columns, problems)
    return []


def _effects(entry: ClaimTable, contrast: str, rows: str, columns: str, problems: Problems) -> list[Claim]:
    return [
        Claim(
            id=f"{entry.id} {row} {column}",
            source=entry.source,
            contrast=contrast,
            cell={**entry.cell, rows: row, columns: column},
            effect_pct=None if isinstance(value, str) else float(value),
            significant=value != NOT_SIGNIFICANT,
            uncertainty_pct=entry.uncertainty,
            clipped_at_pct=entry.clipped_at,
            direction=_DIRECTIONS.get(value) if isinstance(value, str) else None,
            untestable=entry.untestable,
            origin=_ORIGINS[entry.origin or PUBLISHED],
            counts_as=_counts_as(entry, {**entry.cell, rows: row, columns: column}, problems),
        )
        for row, values in entry.effect_pct.items()
        for column, value in values.items()
    ]


def _levels(entry: ClaimTable, arm: str, problems: Problems) -> list[Claim]:
    made = []
    for metric, level in entry.metrics.items():
        where = f"claims.{entry.id}.metrics.{metric}"
        if level.at_least is None and level.at_most is None and entry.untestable is None:
            problems.add(where, "has no bounds: write at_least, at_most or both")
        if level.at_least is not None and level.at_most is not None and level.at_least > level.at_most:
            problems.add_value(where, level.at_least, "at_least lies above at_most")
        origin, value = _number(level, where, problems)
        made.append(
            Claim(
                id=f"{entry.id} {arm} {metric}",
                source=entry.source,
                contrast="",
                cell=entry.cell,
                effect_pct=None,
                significant=True,
                expected=ExpectedLevel(arm, metric, value, level.at_least, level.at_most, level.below),
                untestable=entry.untestable,
                origin=origin,
                counts_as=_counts_as(entry, entry.cell, problems),
            )
        )
    return made


def _counts_as(entry: ClaimTable, cell: Mapping[str, str], problems: Problems) -> str:
    """Return the name under which a claim counts, with the level of the cell for each factor in braces."""
    names = _BRACES.findall(entry.counts_as or "")
    for name in names:
        if name not in cell:
            problems.add_value(f"claims.{entry.id}.counts_as", f"{{{name}}}", f"no factor here; {allowed(name, cell)}")
            return ""
    return _BRACES.sub(lambda found: cell[found[1]], entry.counts_as or "")


def _number(level: ExpectedTable, where: str, problems: Problems) -> tuple[str, float | None]:
    """Return whose number a level is, and the number, None if there is none."""
    found = [(key, getattr(level, key)) for key in _ORIGINS if getattr(level, key) is not None]
    if len(found) > 1:
        keys = " and ".join(key for key, _ in found)
        problems.add(where, f"has {keys}: a number has one origin, so keep the one that is true")
    key, value = found[0] if found else (PUBLISHED, None)
    return _ORIGINS[key], value


def check_expected(study: Study, catalogue: Catalogue, problems: Problems) -> None:
    """Check that the arms and metrics that claims about levels name are the study's."""
    arms = [arm.name for arm in study.arms]
    for claim in study.claims:
        if claim.expected is None:
            continue
        if claim.expected.arm not in arms:
            problems.add_value("claims.arm", claim.expected.arm, f"no such arm; {allowed(claim.expected.arm, arms)}")
        if claim.expected.metric not in study.metrics:
            known = study.metrics if claim.expected.metric in catalogue.metrics else catalogue.metrics
            message = f"not among this study's metrics; {allowed(claim.expected.metric, known)}"
            problems.add_value("claims.metrics", claim.expected.metric, message)
