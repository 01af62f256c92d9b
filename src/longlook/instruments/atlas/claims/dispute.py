"""Disputes: published studies that contradict each other, and which of our values can decide (docs/guide/claims.md).

Each is a TOML file in `disputes/` of this package or of a root in LONGLOOK_PLUGINS. This module finds, reads and checks
them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from longlook.core import Contrast, InputError, Problems, Study, allowed, find_metric, read_toml, registry
from longlook.instruments.atlas.claims.dispute_schema import DisputeTable, EvidenceTable, HoldsTable, PositionTable
from longlook.study import cells_of, labels_of, parse_table

RISES, FALLS, CONSTANT = "rises", "falls", "constant"


@dataclass(frozen=True)
class Holds:
    """The condition under which a position holds: bounds of a value, or its trend over the levels, in the value's unit.

    Differences of up to `tolerance` count as none.
    """

    at_least: float | None = None
    at_most: float | None = None
    trend: str | None = None  # rises | falls | constant
    tolerance: float = 0.0


@dataclass(frozen=True)
class Position:
    """A source's finding, in words and as a condition that a program can check, which only evidence needs."""

    name: str
    source: str
    says: str
    holds: Holds = Holds()


@dataclass(frozen=True)
class DisputeEvidence:
    """Values over the levels of a factor: a contrast's effect in percent, or an arm's level in its metric's unit."""

    study: str
    metric: str
    factor: str
    levels: tuple[str, ...]
    cell: Mapping[str, str] = field(default_factory=dict)  # levels of all other factors
    contrast: str | None = None
    arm: str | None = None

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
    problems.raise_if_any()
    if dispute is None:  # parse_table has reported the reason
        raise InputError(f"{path.name} is no dispute")
    return dispute


def unit_of(evidence: DisputeEvidence) -> str:
    """Return the unit of the evidence's values; effects are in percent."""
    return "%" if evidence.contrast else find_metric(evidence.metric).unit


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
    bounds = [bound for bound in (holds.at_least, holds.at_most) if bound is not None]
    if holds.trend is None:
        _check_bounds(holds, bounds, where, problems)
    elif bounds:
        problems.add(where, "has both bounds and a trend: one of them")
    elif holds.trend == CONSTANT and not holds.tolerance:
        problems.add(f"{where}.tolerance", "missing: no two values are the same, so constant needs one above 0")
    made = Holds(holds.at_least, holds.at_most, holds.trend, holds.tolerance or 0.0)
    return Position(entry.name, entry.source, entry.says, made)


def _check_bounds(holds: HoldsTable, bounds: list[float], where: str, problems: Problems) -> None:
    if not bounds:
        problems.add(where, "has no condition: give at_least, at_most or both, or trend")
    if len(bounds) == 2 and bounds[0] > bounds[1]:
        problems.add_value(f"{where}.at_least", bounds[0], "lies above at_most")
    if holds.tolerance is not None:
        problems.add_value(f"{where}.tolerance", holds.tolerance, "is of a trend, and this position has bounds")


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
    return DisputeEvidence(entry.study, metric, entry.factor, tuple(ran), entry.cell, entry.contrast, entry.arm)


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
        if bool(evidence.contrast) != bool(first.contrast) or unit_of(evidence) != unit_of(first):
            kind_text = f"is {kind} in {unit_of(evidence) or 'no unit'}"
            problems.add(f"evidence[{number}]", f"{kind_text}: positions can only be about values of one kind and unit")
        if len(evidence.levels) < 2 and any(position.holds.trend for position in dispute.positions):
            problems.add(f"evidence[{number}].levels", "a trend needs two levels or more")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
