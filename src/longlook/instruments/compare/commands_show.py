"""The answer about two commands, in each form that printers want."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from rich.table import Table
from rich.text import Text

from longlook.core import CsvWriter, codec
from longlook.instruments.compare.commands import SIDES, CommandCase, CommandRun, CommandSpec, RunEnd
from longlook.instruments.compare.gate import GateAnswer, gravest
from longlook.instruments.compare.show import MARKS
from longlook.report import wording
from longlook.terminal import Prose, Renderings

_SAY_EVERY = 5


def run_said(run: CommandRun, count: int, spec: CommandSpec) -> str:
    """Return a line about a run that did not end well, and after each fifth round how far the comparison is."""
    if run.end is not RunEnd.OK:
        return f"{run.end}: {run.side}, round {run.round} ({run.network}): {run.reason}"
    each = len(SIDES) * len(spec.networks)
    done, rest = divmod(count, each)
    return f"{done} of {spec.rounds} rounds" if rest == 0 and done % _SAY_EVERY == 0 else ""


def commands_shown(spec: CommandSpec, cases: Sequence[CommandCase], rounds_file: Path) -> Renderings:
    """Return the answers; `rounds_file` has every round."""
    return Renderings(
        people=lambda: [
            _table(cases),
            *(Prose(f"{case.network}: {case.reason}") for case in cases),
            "+ means that the contender is faster; it ran in real time",
            f"every round: {rounds_file}",
        ],
        lines=lambda: [
            {
                "event": "gate",
                "gate_pct": spec.gate_pct,
                "answer": str(answer_of(cases)),
                "rounds_file": str(rounds_file),
            }
            | {"cases": codec.encode(list(cases))}
        ],
    )


def answer_of(cases: Sequence[CommandCase]) -> GateAnswer:
    """Return the gravest answer of all networks."""
    return gravest(case.answer for case in cases)


def _table(cases: Sequence[CommandCase]) -> Table:
    names = ("gate", "network", "rounds", "failed", "baseline", "contender", "effect", "interval", "verdict")
    table = Table(*names, box=None)
    for case in cases:
        failed = ", ".join(f"{side} {case.failed[side]}" for side in SIDES if case.failed[side])
        if case.invalid:
            failed = ", ".join(filter(None, (failed, f"{case.invalid} invalid")))
        times = [wording.quantity(case.medians_s[side], "s") for side in SIDES]
        effect = wording.DASH if case.effect_pct is None else wording.signed(case.effect_pct, "%")
        span = wording.interval_with(case.low_pct, case.high_pct, "%")
        cells = (case.network, str(case.rounds), failed or "0", *times, effect, span, case.verdict)
        table.add_row(MARKS[case.answer], *map(Text, cells))
    return table


def write_rounds(runs: Sequence[CommandRun], file: Path) -> None:
    """Write every run as a row of CSV."""
    names = [field.name for field in fields(CommandRun)]
    with file.open("w", newline="") as opened:
        rows = CsvWriter(opened)
        rows.writerow(names)
        rows.writerows([getattr(run, name) for name in names] for run in runs)
