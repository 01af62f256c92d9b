"""Disputes: published studies that contradict each other, and which of our values can decide (docs/guide/claims.md).

Each is a TOML file in `disputes/` of this package or of a root in LONGLOOK_PLUGINS. This module finds, reads and checks
them: first by the schema (pydantic), then what must hold between a file's parts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from longlook.core import Contrast, InputError, Problems, Study, Verdict, allowed, find_metric, read_toml, registry
from longlook.study import SchemaVersion, Table, Text, cells_of, labels_of, parse_table

Number = int | float


class SchemaTable(Table):
    """A table of a dispute file."""


class HoldsTable(SchemaTable):
    """`holds` of a position: bounds of a value, the verdict of an effect, or a trend over the levels of a factor."""

    at_least: Number | None = None
    at_most: Number | None = None
    verdict: Literal["better", "worse", "equivalent"] | None = None
    trend: Literal["rises", "falls", "constant"] | None = None
    tolerance: Annotated[Number, Field(ge=0)] | None = None
    over: Text | None = None
    ends_at_least: Number | None = None
    ends_at_most: Number | None = None


class PositionTable(SchemaTable):
    """`[[positions]]`: the finding of one source."""

    name: Text
    source: Text
    says: Text
    holds: HoldsTable | None = None


class ControlTable(SchemaTable):
    """`control` of a piece of evidence: what all positions predict of it, and why they do."""

    why: Text
    holds: HoldsTable


class EvidenceTable(SchemaTable):
    """`[[evidence]]`: values of one study over the levels of one factor, which can decide the dispute or are a
    control."""

    study: str
    contrast: str | None = None
    arm: str | None = None
    metric: str | None = None
    factor: str
    levels: Annotated[list[str], Field(min_length=1)] | None = None
    cell: dict[str, str] = Field(default_factory=dict)
    control: ControlTable | None = None


class UndecidableTable(SchemaTable):
    """`[undecidable]`: why nothing here can decide the dispute, and what could."""

    why: Text
    needs: Text


class SettledTable(SchemaTable):
    """`[settled]`: the position that follows from what the sources print, and how."""

    holds: Text
    by: Text


class DisputeTable(SchemaTable):
    """A whole file."""

    schema_: Annotated[SchemaVersion, Field(alias="schema")]
    question: Text
    notes: Text | None = None
    positions: Annotated[list[PositionTable], Field(min_length=2)]
    evidence: list[EvidenceTable] = Field(default_factory=list)
    undecidable: UndecidableTable | None = None
    settled: SettledTable | None = None


RISES, FALLS, CONSTANT = "rises", "falls", "constant"

PREDICTED = "as predicted"
"""The name of the condition of a control, beside the names of positions."""


@dataclass(frozen=True)
class Holds:
    """The condition under which a position holds: bounds of a value, its trend over the levels, or an effect's verdict.

    Bounds and `tolerance` are in the value's unit; a verdict has none, so that it is about effects in any. Differences
    of up to `tolerance` count as none. A trend may also bound the value at the last level (`ends_at_least`,
    `ends_at_most`), and may be about one factor alone (`over`): evidence along another says nothing about it.
    """

    at_least: float | None = None
    at_most: float | None = None
    trend: str | None = None  # rises | falls | constant
    tolerance: float = 0.0
    over: str | None = None
    ends_at_least: float | None = None
    ends_at_most: float | None = None
    verdict: Verdict | None = None  # better | worse | equivalent


@dataclass(frozen=True)
class Position:
    """A source's finding, in words and as a condition that a program can check, which only evidence needs."""

    name: str
    source: str
    says: str
    holds: Holds = Holds()


@dataclass(frozen=True)
class Control:
    """The condition that all positions predict of a piece of evidence, and why: it decides nothing between them."""

    why: str
    holds: Holds


@dataclass(frozen=True)
class DisputeEvidence:
    """Values over the levels of a factor: a contrast's effect (`Metric.effect_unit`), or an arm's level in its metric's
    unit.
    """

    study: str
    metric: str
    factor: str
    levels: tuple[str, ...]
    cell: Mapping[str, str] = field(default_factory=dict)  # levels of all other factors
    contrast: str | None = None
    arm: str | None = None
    control: Control | None = None

    @property
    def sides(self) -> dict[str, str]:
        """The arm or contrast, the cell and the study by name, by which pieces of evidence differ."""
        return {
            "study": self.study, "metric": self.metric, "factor": self.factor, "contrast": self.contrast or "",
            "arm": self.arm or "", **self.cell,
        }  # fmt: skip


@dataclass(frozen=True)
class Undecidable:
    """Why no value of this installation can decide a dispute, and what could."""

    why: str
    needs: str


@dataclass(frozen=True)
class Settled:
    """The position that follows from what the sources print, without any trial, and how it follows."""

    holds: str
    by: str


@dataclass(frozen=True)
class Dispute:
    """A question to which sources give different answers: with evidence, or with one of the reasons for none."""

    id: str
    question: str
    positions: tuple[Position, ...]
    evidence: tuple[DisputeEvidence, ...]
    notes: str | None = None
    undecidable: Undecidable | None = None
    settled: Settled | None = None


def list_disputes(studies: Mapping[str, Study]) -> list[Dispute]:
    """Return all disputes of this installation and of LONGLOOK_PLUGINS by name; `studies` are the studies that they may
    name.
    """
    return [read_dispute(path, studies) for path in registry.toml_files("disputes", "dispute").values()]


def read_dispute(path: Path, studies: Mapping[str, Study]) -> Dispute:
    """Return the dispute of a file; its id is the file's stem. Raise InputError with every problem, one a line."""
    problems = Problems(path.name, "docs/guide/claims.md lists every key of a dispute")
    table = parse_table(DisputeTable, read_toml(path), problems)
    dispute = None
    if table is not None:
        positions = tuple(_position(entry, bool(table.evidence), problems) for entry in table.positions)
        evidence = [
            found
            for number, entry in enumerate(table.evidence)
            if (found := _evidence(entry, f"evidence[{number}]", studies, problems)) is not None
        ]
        dispute = Dispute(
            path.stem,
            table.question,
            positions,
            tuple(evidence),
            table.notes,
            None if table.undecidable is None else Undecidable(table.undecidable.why, table.undecidable.needs),
            None if table.settled is None else Settled(table.settled.holds, table.settled.by),
        )
        _check_decides(table, problems)
        _check(dispute, problems)
        _check_controls(dispute, problems)
    problems.raise_if_any()
    if dispute is None:  # parse_table has reported the reason
        raise InputError(f"{path.name} is no dispute")
    return dispute


def unit_of(evidence: DisputeEvidence) -> str:
    """Return the unit of the evidence's values: effects of times and rates are in percent, of counts and shares in
    their own.
    """
    metric = find_metric(evidence.metric)
    return metric.effect_unit if evidence.contrast else metric.unit


def _check_decides(table: DisputeTable, problems: Problems) -> None:
    """Add a problem unless exactly one thing decides the dispute, or is the reason why nothing does."""
    given = [name for name in ("evidence", "undecidable", "settled") if getattr(table, name)]
    if not given:
        problems.add("evidence", "missing: give evidence, or [undecidable] with why and needs, or [settled]")
    elif len(given) > 1:
        problems.add(given[1], f"stands beside {given[0]}: a dispute has one of evidence, undecidable and settled")
    names = [position.name for position in table.positions]
    if table.settled is not None and table.settled.holds not in names:
        problems.add_value(
            "settled.holds", table.settled.holds, f"no such position; {allowed(table.settled.holds, names)}"
        )


def _position(entry: PositionTable, has_evidence: bool, problems: Problems) -> Position:
    holds, where = entry.holds, f"positions.{entry.name}.holds"
    if not has_evidence:
        if holds is not None:
            problems.add(where, "is compared with evidence, and this dispute has none")
        return Position(entry.name, entry.source, entry.says)
    if holds is None:
        problems.add(where, "missing: evidence is compared with it")
        return Position(entry.name, entry.source, entry.says)
    return Position(entry.name, entry.source, entry.says, _holds(holds, where, problems))


def _holds(holds: HoldsTable, where: str, problems: Problems) -> Holds:
    bounds = [bound for bound in (holds.at_least, holds.at_most) if bound is not None]
    ends = [bound for bound in (holds.ends_at_least, holds.ends_at_most) if bound is not None]
    given = [
        name for name, is_given in (("bounds", bounds), ("verdict", holds.verdict), ("trend", holds.trend)) if is_given
    ]
    if len(given) > 1:
        ends_too = ", or ends_at_least and ends_at_most of the trend" if "trend" in given else ""
        problems.add(where, f"has both {given[0]} and {given[1]}: one of them{ends_too}")
    elif holds.trend is None:
        _check_bounds(holds, bounds, where, problems)
    elif holds.trend == CONSTANT and not holds.tolerance:
        problems.add(f"{where}.tolerance", "missing: no two values are the same, so constant needs one above 0")
    if len(ends) == 2 and ends[0] > ends[1]:
        problems.add_value(f"{where}.ends_at_least", ends[0], "lies above ends_at_most")
    return Holds(
        holds.at_least,
        holds.at_most,
        holds.trend,
        holds.tolerance or 0.0,
        holds.over,
        holds.ends_at_least,
        holds.ends_at_most,
        None if holds.verdict is None else Verdict(holds.verdict),
    )


def _check_bounds(holds: HoldsTable, bounds: list[float], where: str, problems: Problems) -> None:
    if not bounds and holds.verdict is None:
        problems.add(where, "has no condition: give at_least, at_most or both, verdict, or trend")
    if len(bounds) == 2 and bounds[0] > bounds[1]:
        problems.add_value(f"{where}.at_least", bounds[0], "lies above at_most")
    for key in ("tolerance", "over", "ends_at_least", "ends_at_most"):
        if (value := getattr(holds, key)) is not None:
            problems.add_value(f"{where}.{key}", value, "is of a trend, and this position has none")


def _evidence(
    entry: EvidenceTable, where: str, studies: Mapping[str, Study], problems: Problems
) -> DisputeEvidence | None:
    study = studies.get(entry.study)
    if study is None:
        problems.add_value(f"{where}.study", entry.study, f"no such study; {allowed(entry.study, studies)}")
        return None
    before = len(problems.lines)
    metric = _metric(entry, where, study, problems)
    factors = {factor.name: [level.label for level in factor.levels] for factor in study.factors}
    if entry.factor not in factors:
        problems.add_value(f"{where}.factor", entry.factor, f"no such factor; {allowed(entry.factor, factors)}")
        return None
    _check_cell(entry, where, factors, problems)
    if len(problems.lines) > before:
        return None
    existing = [labels_of(cell) for cell in cells_of(study)]
    wanted = entry.levels or factors[entry.factor]
    ran = [level for level in wanted if {**entry.cell, entry.factor: level} in existing]
    excluded = [level for level in wanted if level not in ran]
    if excluded and (entry.levels or not ran):
        problems.add_value(f"{where}.levels", excluded[0], "the study excludes this cell")
        return None
    control = None
    if entry.control is not None:
        control = Control(entry.control.why, _holds(entry.control.holds, f"{where}.control.holds", problems))
    return DisputeEvidence(
        entry.study, metric, entry.factor, tuple(ran), entry.cell, entry.contrast, entry.arm, control
    )


def _metric(entry: EvidenceTable, where: str, study: Study, problems: Problems) -> str:
    """Return the metric of a piece of evidence; for a contrast it is the contrast's own unless another is named."""
    if (entry.contrast is None) == (entry.arm is None):
        problems.add(where, "needs a contrast (an effect) or an arm (a level), and one of them alone")
    contrasts: dict[str, Contrast] = {contrast.name: contrast for contrast in study.contrasts}
    arms = [arm.name for arm in study.arms]
    for key, name, known in (("contrast", entry.contrast, list(contrasts)), ("arm", entry.arm, arms)):
        if name is not None and name not in known:
            problems.add_value(f"{where}.{key}", name, f"no such {key} in {study.id}; {allowed(name, known)}")
    if entry.metric is not None and entry.metric not in study.metrics:
        problems.add_value(
            f"{where}.metric",
            entry.metric,
            f"not among the metrics of {study.id}; {allowed(entry.metric, study.metrics)}",
        )
    if entry.metric is None and entry.contrast is None:
        problems.add(f"{where}.metric", f"missing; {allowed('', study.metrics)}")
    own = contrasts[entry.contrast].metric if entry.contrast in contrasts else ""
    return entry.metric or own


def _check_cell(entry: EvidenceTable, where: str, factors: Mapping[str, list[str]], problems: Problems) -> None:
    for name, level in entry.cell.items():
        if name == entry.factor:
            problems.add(f"{where}.cell.{name}", "is the factor that is looked along: levels chooses among its levels")
        elif name not in factors:
            problems.add(f"{where}.cell.{name}", f"no factor {name!r}; {allowed(name, factors)}")
        elif level not in factors[name]:
            problems.add_value(f"{where}.cell.{name}", level, f"no such level; {allowed(level, factors[name])}")
    if missing := [name for name in factors if name not in entry.cell and name != entry.factor]:
        problems.add(f"{where}.cell", f'names no level of {", ".join(missing)}: add cell = {{ {missing[0]} = "…" }}')
    for level in entry.levels or ():
        if level not in factors[entry.factor]:
            problems.add_value(f"{where}.levels", level, f"no such level; {allowed(level, factors[entry.factor])}")
    for level in _repeated(entry.levels or ()):
        problems.add_value(f"{where}.levels", level, "listed twice")


def _check(dispute: Dispute, problems: Problems) -> None:
    for name in _repeated(position.name for position in dispute.positions):
        problems.add(f"positions.{name}", "two positions have this name")
    if not dispute.evidence:
        return
    first = dispute.evidence[0]
    for number, evidence in enumerate(dispute.evidence):
        kind = "an effect" if evidence.contrast else "a level"
        conditions = judged_by(evidence, dispute.positions).values()
        if evidence.contrast is None and any(holds.verdict for holds in conditions):
            problems.add(f"evidence[{number}]", "is a level, which has no verdict: positions need bounds or a trend")
        same_unit = unit_of(evidence) == unit_of(first) or all(holds.verdict for holds in conditions)
        if bool(evidence.contrast) != bool(first.contrast) or not same_unit:
            kind_text = f"is {kind} in {unit_of(evidence) or 'no unit'}"
            problems.add(f"evidence[{number}]", f"{kind_text}: positions can only be about values of one kind and unit")
        if len(evidence.levels) < 2 and any(holds.trend for holds in conditions):
            problems.add(f"evidence[{number}].levels", "a trend needs two levels or more")


def judged_by(evidence: DisputeEvidence, positions: Sequence[Position]) -> dict[str, Holds]:
    """Return the conditions that the values of a piece of evidence are compared with: the prediction of a
    control (`PREDICTED`), else the condition of each position.
    """
    if evidence.control is not None:
        return {PREDICTED: evidence.control.holds}
    return {position.name: position.holds for position in positions}


def _check_controls(dispute: Dispute, problems: Problems) -> None:
    """Add a problem if nothing but controls is given, or if a factor that a trend is over is along no evidence."""
    deciding = [evidence for evidence in dispute.evidence if evidence.control is None]
    if dispute.evidence and not deciding:
        problems.add("evidence", "is controls alone, which decide nothing: add what can decide, or give [undecidable]")
    along = {evidence.factor for evidence in deciding}
    for position in dispute.positions:
        over = position.holds.over
        if over is not None and over not in along:
            problems.add_value(
                f"positions.{position.name}.holds.over", over, f"no evidence is along it; {allowed(over, along)}"
            )


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
