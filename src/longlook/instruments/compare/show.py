"""Comparisons and bisections on a terminal, in a pipe, and as JSON lines."""

import json
import sys
from typing import Any

from rich.table import Table
from rich.text import Text

from longlook.core.versions import is_build
from longlook.instruments.compare.bisection import VersionFinding
from longlook.instruments.compare.gate import FAILURES, GateAnswer, GateVerdict
from longlook.instruments.compare.output import OUTCOMES, JudgedComparison, answer_data
from longlook.instruments.compare.run import Bisection, BisectionStep
from longlook.terminal.console import console

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


def show_comparison(judged: JudgedComparison, *, as_json: bool) -> None:
    """Print the answer, below the table of verdicts."""
    if as_json:
        _emit(event="gate", **answer_data(judged))
        return
    console().print(gate_table(judged.verdict))
    _line(f"{judged.title}: {OUTCOMES[judged.verdict.answer]} a gate of {judged.verdict.gate_pct:g} %")


class BisectionDisplay:
    """Shows the steps of a bisection."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._steps = 0

    def show(self, step: BisectionStep) -> None:
        """Show a version that was tried."""
        self._steps += 1
        if self._as_json:
            _emit(event="step", version=step.version, finding=str(step.finding), reason=step.reason)
        else:
            _line(f"{self._steps}. {step.version}: {_FINDINGS[step.finding]}: {step.reason}")

    def conclude(self, bisection: Bisection, stack: str) -> None:
        """Print the first version that is worse, and what may come before it."""
        found, step = bisection.found, bisection.step
        if self._as_json:
            cases = [] if step.verdict is None else step.verdict.cases
            estimates = [case.estimate for case in cases if case.subject != FAILURES]
            _emit(
                event="found",
                stack=stack,
                last_good=found.last_good,
                first_bad=found.first_bad,
                untestable_between=list(found.between),
                left_out=list(bisection.left_out),
                effects_pct={f"{item.cell['network']}: {item.metric}": item.effect_pct for item in estimates},
            )
            return
        _line(f"first worse: {stack}@{found.first_bad}; {stack}@{found.last_good} is not worse yet")
        if found.between:
            _line(f"  {', '.join(found.between)} between them could not be tested, so the first may be one of these")
        if bisection.left_out_here:
            names = " and ".join(bisection.left_out_here)
            was = (
                "is of another kind than both ends and was"
                if len(bisection.left_out_here) == 1
                else ("are of another kind than both ends and were")
            )
            _line(f"  {names} between them {was} not tried; name one as an end to search its kind")
        if not is_build(found.first_bad) and not is_build(found.last_good):
            _line(f"  releases between them that Longlook does not know were not tried (longlook stacks list {stack})")
        for case in step.verdict.cases if step.verdict else ():
            _line(f"  {case.name}: {case.reason}")


def _line(text: str) -> None:
    console().print(text, markup=False, soft_wrap=True)


def _emit(**line: Any) -> None:
    sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
    sys.stdout.flush()
