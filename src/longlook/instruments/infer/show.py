"""Inferred machines, and their difference, on a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from longlook.explain import END, Difference, Standing, StatePair, TransitionPair
from longlook.instruments.infer.run import Compared, Inferred
from longlook.report import p_value, percent, spoken
from longlook.terminal import Renderings


def machines_shown(machines: Sequence[Inferred]) -> Renderings:
    """Return a row for each machine, and the files that it was written to."""
    return Renderings(lambda: _rows(machines), lambda: {"machines": [_machine(one) for one in machines]})


def _rows(machines: Sequence[Inferred]) -> Iterator[RenderableType]:
    table = Table("machine", "traces", "events", "states", "transitions", "invariants kept", "smallest", box=None)
    for one in machines:
        machine = one.machine
        states = len(machine.states) - END - 1
        counts = (len(machine.traces), machine.events, states, len(machine.transitions), len(machine.invariants))
        table.add_row(one.title, *(f"{count:,}" for count in counts), "proven" if machine.smallest else "not proven")
    yield table
    warnings = [warning for one in machines for warning in one.warnings]
    yield from _notes(warnings, [file for one in machines for file in one.files])


def comparison_shown(compared: Compared) -> Renderings:
    """Return a row for each state and transition that is not alike, and the files that were written."""
    found = _unlike(compared.difference)
    difference = {"a": compared.a.title, "b": compared.b.title, "level": compared.difference.level, "unlike": found}
    return Renderings(
        people=lambda: _unlike_rows(compared, found),
        data=lambda: {
            "machines": [_machine(compared.a), _machine(compared.b)],
            "difference": difference,
            "files": [str(file) for file in compared.files],
        },
    )


def _unlike_rows(compared: Compared, found: Sequence[dict[str, Any]]) -> Iterator[RenderableType]:
    table = Table("what", f"A: {compared.a.title}", f"B: {compared.b.title}", "p, corrected", "", box=None)
    for row in found:
        p = row["p_adjusted"]
        shares = [percent(row[f"share_{side}"]) for side in "ab"]
        table.add_row(row["what"], *shares, "" if p is None else p_value(p), row["standing"].replace("_", " "))
    yield table if found else "no state and no transition differs significantly"
    files = [*compared.a.files, *compared.b.files, *compared.files]
    yield from _notes([*compared.a.warnings, *compared.b.warnings], files)


def _unlike(difference: Difference) -> list[dict[str, Any]]:
    def row(what: str, share_a: float, share_b: float, one: StatePair | TransitionPair) -> dict[str, Any]:
        return {
            "what": what,
            "share_a": share_a,
            "share_b": share_b,
            "p_adjusted": one.test.p_adjusted,
            "standing": str(one.standing),
        }

    names = [spoken(state.name) if state.name else state.role for state in difference.states]
    states = [row(f"time in {names[one.id]}", one.share_a, one.share_b, one) for one in difference.states]
    steps = [
        row(f"{names[one.source]} → {names[one.target]}", one.probability_a, one.probability_b, one)
        for one in difference.transitions
    ]
    return [one for one in (*states, *steps) if one["standing"] != Standing.ALIKE]


def _machine(one: Inferred) -> dict[str, Any]:
    machine = one.machine
    return {
        "title": one.title,
        "traces": len(machine.traces),
        "events": machine.events,
        "states": len(machine.states) - END - 1,
        "transitions": len(machine.transitions),
        "invariants": len(machine.invariants),
        "smallest": machine.smallest,
        "warnings": list(one.warnings),
        "files": [str(file) for file in one.files],
    }


def _notes(warnings: Sequence[str], files: Sequence[Path]) -> Iterator[RenderableType]:
    yield from (Text(f"warning: {warning}", "yellow") for warning in warnings)
    yield from (Text(f"written: {file}") for file in files)
