"""The schema of a dispute file (pydantic); dispute.py checks what must hold between its parts."""

from typing import Annotated, Literal

from pydantic import Field

from longlook.study import SchemaVersion, Table, Text

Number = int | float


class SchemaTable(Table):
    """A table of a dispute file."""


class HoldsTable(SchemaTable):
    """`holds` of a position: bounds of a value, or its trend over the levels of a factor."""

    at_least: Number | None = None
    at_most: Number | None = None
    trend: Literal["rises", "falls", "constant"] | None = None
    tolerance: Annotated[Number, Field(ge=0)] | None = None


class PositionTable(SchemaTable):
    """`[[positions]]`: the finding of one source."""

    name: Text
    source: Text
    says: Text
    holds: HoldsTable | None = None


class EvidenceTable(SchemaTable):
    """`[[evidence]]`: values of one study over the levels of one factor that can decide the dispute."""

    study: str
    contrast: str | None = None
    arm: str | None = None
    metric: str | None = None
    factor: str
    levels: Annotated[list[str], Field(min_length=1)] | None = None
    cell: dict[str, str] = Field(default_factory=dict)


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
