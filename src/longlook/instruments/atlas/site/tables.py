"""The tables behind every cell of a study's page: what each run measured, beside what was published of it.

A cell of a figure leads to its row, and a row to its explanation, so that a page needs no report that is not at hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from longlook.analysis import sentence
from longlook.core import ArmLevel, ClaimResult
from longlook.instruments.atlas.claims.entries import Found
from longlook.instruments.atlas.claims.marks import ClaimMarks, marks_of
from longlook.instruments.atlas.claims.survey import SurveyedClaim
from longlook.instruments.atlas.content import AtlasStudy
from longlook.report import cell_label, claims_of, contrast_heading, failures, make_grid, metric_facts, wording


@dataclass(frozen=True)
class CellRow:
    """A cell of a contrast. Texts are as they are shown; `marks` is None if nothing was published of it."""

    anchor: str
    cell: str
    baseline: str
    contender: str
    effect: str
    interval: str
    verdict: str
    rounds: int
    p: str
    published: str
    marks: ClaimMarks | None
    notes: tuple[str, ...]
    why: str  # the link of its explanation; empty without one


@dataclass(frozen=True)
class CellTable:
    """The cells of a contrast."""

    heading: str
    baseline: str
    contender: str
    rows: tuple[CellRow, ...]

    @property
    def is_published(self) -> bool:
        """Whether a source has values of any of its cells."""
        return any(row.marks is not None for row in self.rows)


@dataclass(frozen=True)
class LevelRow:
    """The level of an arm in a cell."""

    anchor: str
    arm: str
    metric: str
    cell: str
    median: str
    interval: str
    rounds: int


def cell_tables(item: AtlasStudy, found: Found) -> list[CellTable]:
    """Return a table for each contrast of a run that has values; `item` is its study with links to its own page."""
    content, whys = found.content, {(each.contrast, each.cell_id): each.link or "" for each in item.explanations}
    tables = []
    for contrast in content.study.contrasts:
        claims, rows = claims_of(content, contrast), []
        for place in make_grid(content, contrast).in_order():
            estimate = place.estimate
            if estimate is None or place.cell_id is None:
                continue
            claim = claims.get(place.key)
            baseline, contender = (wording.quantity(level, estimate.unit) for level in estimate.levels)
            cliff = (f"{wording.CLIFF} {sentence(estimate.cliff)}",) if estimate.cliff else ()
            rows.append(
                CellRow(
                    anchor=found.anchors[contrast.name, str(place.cell_id)],
                    cell=cell_label(place.cell),
                    baseline=baseline,
                    contender=contender,
                    effect=wording.effect_of(estimate),
                    interval=wording.interval_in_unit(estimate),
                    verdict=f"{wording.SYMBOLS[estimate.verdict]} {estimate.verdict}",
                    rounds=estimate.n_pairs,
                    p=wording.p_value(estimate.p_adjusted),
                    published=wording.published(claim.claim) if claim else "",
                    marks=marks_of(claim.result, claim.claim.kind) if claim else None,
                    notes=(*cliff, *failures(content.study, [estimate])),
                    why=whys.get((contrast.name, str(place.cell_id)), ""),
                )
            )
        if rows:
            names = content.short_label(contrast.baseline), content.short_label(contrast.contender)
            tables.append(CellTable(contrast_heading(content, contrast), *names, tuple(rows)))
    return tables


def level_rows(found: Found) -> list[LevelRow]:
    """Return the levels of arms that the entry has, in its order."""
    facts = metric_facts(found.study)
    return [
        LevelRow(
            anchor=level_anchor(number),
            arm=found.content.short_label(level.arm),
            metric=facts[level.metric].label if level.metric in facts else level.metric.replace("_", " "),
            cell=cell_label(level.cell),
            median=wording.level(level),
            interval=wording.level_interval(level),
            rounds=level.n,
        )
        for number, level in enumerate(found.entry.levels)
    ]


def level_anchor(number: int) -> str:
    """Return the anchor of a level of an arm, by its place in the entry."""
    return f"level-{number}"


def why_anchor(number: int) -> str:
    """Return the anchor of an explanation, by its place in the entry."""
    return f"why-{number}"


def on_own_page(item: AtlasStudy, found: Found | None, page: str) -> AtlasStudy:
    """Return a study whose cells, claims and explanations lead to the tables of its page at this address."""
    run = item.surveyed.run
    if found is None or run is None:
        return item
    explanations = tuple(
        replace(each, link=f"{page}#{why_anchor(number)}") for number, each in enumerate(item.explanations)
    )
    claims = _linked(item.claims, found, page)
    surveyed = replace(item.surveyed, run=replace(run, report=page), claims=claims)
    return replace(item, surveyed=surveyed, explanations=explanations)


def _linked(claims: tuple[SurveyedClaim, ...], found: Found, page: str) -> tuple[SurveyedClaim, ...]:
    judged = {result.claim.id: result for result in found.claims}
    levels = {_key(level): number for number, level in enumerate(found.entry.levels)}
    return tuple(replace(claim, link=_link(judged.get(claim.claim.id), found, levels, page)) for claim in claims)


def _link(
    result: ClaimResult | None, found: Found, levels: Mapping[tuple[str, str, str], int], page: str
) -> str | None:
    """Return the address of the row that a claim is compared with, or None if nothing is."""
    if result is None:
        return None
    if result.estimate is not None:
        anchor = found.anchors.get((result.estimate.contrast, result.estimate.cell_id))
        return f"{page}#{anchor}" if anchor else None
    if result.level is not None and _key(result.level) in levels:
        return f"{page}#{level_anchor(levels[_key(result.level)])}"
    return None


def _key(level: ArmLevel) -> tuple[str, str, str]:
    return level.arm, level.metric, level.cell_id
