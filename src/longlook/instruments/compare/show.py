"""Comparisons and bisections on a terminal, in a pipe, and as JSON lines."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from longlook.core import codec, is_build
from longlook.instruments.compare.bisection import VersionFinding
from longlook.instruments.compare.gate import FAILURES, GateAnswer, GateVerdict
from longlook.instruments.compare.output import OUTCOMES, JudgedComparison, answer_data, junit_xml, markdown
from longlook.instruments.compare.run_bisection import SHORT, Bisection, CommitBisection
from longlook.instruments.compare.steps import BisectionStep
from longlook.provision import Commit
from longlook.terminal import Printer, Renderings

MARKS = {
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
        table.add_row(MARKS[case.answer], Text(case.network), Text(case.subject), Text(case.reason))
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
        """Show a version or commit that was tried."""
        self._steps += 1
        tried = step.candidate
        name = f"{tried.label} {tried.title}" if tried.title else tried.label
        self._printer.report(
            f"{self._steps}. {name}: {_FINDINGS[step.finding]}: {step.reason}",
            event="step",
            version=tried.label,
            **({"title": tried.title} if tried.title else {}),
            finding=str(step.finding),
            reason=step.reason,
        )


def bisection_shown(bisection: Bisection, stack: str) -> Renderings:
    """Return the first version of a stack that is worse, and what may come before it."""
    return Renderings(lambda: _found(bisection, stack), lines=lambda: [_found_data(bisection, stack)])


def commit_bisection_shown(bisection: CommitBisection, stack: str) -> Renderings:
    """Return the first commit that is worse, and the commits that may be it in its place."""
    return Renderings(lambda: _found_commit(bisection), lines=lambda: [_found_commit_data(bisection, stack)])


def _found_data(bisection: Bisection, stack: str) -> dict[str, Any]:
    return {**_search_data(bisection, stack), "left_out": list(bisection.left_out)}


def _found_commit_data(bisection: CommitBisection, stack: str) -> dict[str, Any]:
    commits = {
        name: {"title": commit.title, "author": commit.author, "authored": commit.authored}
        for name, commit in bisection.commits.items()
    }
    return {**_search_data(bisection, stack), "commits": commits}


def _search_data(bisection: Bisection | CommitBisection, stack: str) -> dict[str, Any]:
    return {
        "event": "found",
        "stack": stack,
        "last_good": bisection.found.last_good,
        "first_bad": bisection.found.first_bad,
        "untestable_between": list(bisection.found.between),
        "effects": _effects(bisection.step),
    }


def _effects(step: BisectionStep) -> dict[str, Any]:
    estimates = [case.estimate for case in (step.verdict.cases if step.verdict else ()) if case.subject != FAILURES]
    return {f"{item.cell['network']}: {item.metric}": codec.encode(item.effect) for item in estimates}


def _found_commit(bisection: CommitBisection) -> Iterator[str]:
    found, commits = bisection.found, bisection.commits
    yield f"first worse: {_described(commits[found.first_bad])}"
    if bisection.is_merge and not found.between:
        yield "  it is a merge, and no parent of it is worse"
    yield f"  {_described(commits[found.last_good])} is not worse yet"
    if found.between:
        yield "  between them could not be tested, so the first may be one of these:"
        yield from (f"    {_described(commits[name])}" for name in found.between)
    yield from _reasons(bisection.step)


def _described(commit: Commit) -> str:
    return f"{commit.name[:SHORT]} {commit.title} ({commit.author}, {commit.authored})"


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
    yield from _reasons(step)


def _reasons(step: BisectionStep) -> Iterator[str]:
    for case in step.verdict.cases if step.verdict else ():
        yield f"  {case.name}: {case.reason}"
