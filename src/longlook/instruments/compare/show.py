"""Comparisons and bisections on a terminal, in a pipe, and as JSON lines."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from longlook.core import is_build
from longlook.instruments.compare.bisection import VersionFinding
from longlook.instruments.compare.gate import FAILURES, GateAnswer, GateVerdict
from longlook.instruments.compare.output import OUTCOMES, JudgedComparison, answer_data, junit_xml, markdown
from longlook.instruments.compare.run import Bisection, BisectionStep
from longlook.terminal import Printer, Renderings

_MARKS = {
    GateAnswer.PASSED: Text.assemble(("✓", "green"), " passed"),
    GateAnswer.WORSE: Text.assemble(("✗", "red"), " worse"),
    GateAnswer.UNMEASURED: Text.assemble(("✗", "red"), " not measured"),
    GateAnswer.UNDECIDED: Text.assemble(("?", "yellow"), " undecided"),
}
_FINDINGS = {
    VersionFinding.GOOD: "not worse",
    VersionFinding.BAD: "worse",
    VersionFinding.UNTESTABLE: "cannot be tested",
}


def gate_table(verdict: GateVerdict) -> Table:
    """Return the answer for every network and metric."""
    table = Table("gate", "network", "metric", "why", box=None)
    for case in verdict.cases:
        table.add_row(_MARKS[case.answer], Text(case.network), Text(case.subject), Text(case.reason))
    return table


def comparison_shown(judged: JudgedComparison) -> Renderings:
    """Return the answer, which is shown below the table of verdicts, and written to files."""
    answer = f"{judged.title}: {OUTCOMES[judged.verdict.answer]} a gate of {judged.verdict.gate_pct:g} %"
    return Renderings(
        people=lambda: [gate_table(judged.verdict), answer],
        lines=lambda: [{"event": "gate", **answer_data(judged)}],
        markdown=lambda: markdown(judged),
        junit=lambda: junit_xml(judged),
    )


class BisectionDisplay:
    """Shows the steps of a bisection."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._steps = 0

    def show(self, step: BisectionStep) -> None:
        """Show a version that was tried."""
        self._steps += 1
        self._printer.report(
            f"{self._steps}. {step.version}: {_FINDINGS[step.finding]}: {step.reason}",
            event="step",
            version=step.version,
            finding=str(step.finding),
            reason=step.reason,
        )


def bisection_shown(bisection: Bisection, stack: str) -> Renderings:
    """Return the first version of a stack that is worse, and what may come before it."""
    return Renderings(lambda: _found(bisection, stack), lines=lambda: [_found_data(bisection, stack)])


def _found_data(bisection: Bisection, stack: str) -> dict[str, Any]:
    found, verdict = bisection.found, bisection.step.verdict
    estimates = [case.estimate for case in (() if verdict is None else verdict.cases) if case.subject != FAILURES]
    return {
        "event": "found",
        "stack": stack,
        "last_good": found.last_good,
        "first_bad": found.first_bad,
        "untestable_between": list(found.between),
        "left_out": list(bisection.left_out),
        "effects_pct": {f"{item.cell['network']}: {item.metric}": item.effect_pct for item in estimates},
    }


def _found(bisection: Bisection, stack: str) -> Iterator[str]:
    found, step = bisection.found, bisection.step
    yield f"first worse: {stack}@{found.first_bad}; {stack}@{found.last_good} is not worse yet"
    if found.between:
        yield f"  {', '.join(found.between)} between them could not be tested, so the first may be one of these"
    if bisection.left_out_here:
        names = " and ".join(bisection.left_out_here)
        was = (
            "is of another kind than both ends and was"
            if len(bisection.left_out_here) == 1
            else ("are of another kind than both ends and were")
        )
        yield f"  {names} between them {was} not tried; name one as an end to search its kind"
    if not is_build(found.first_bad) and not is_build(found.last_good):
        yield f"  releases between them that Longlook does not know were not tried (longlook stacks list {stack})"
    for case in step.verdict.cases if step.verdict else ():
        yield f"  {case.name}: {case.reason}"
