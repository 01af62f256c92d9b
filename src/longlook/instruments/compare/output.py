"""A judged comparison for other programs: JUnit XML, Markdown and JSON."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from longlook.core import Estimate, codec
from longlook.instruments.compare.gate import FAILURES, GateAnswer, GateCase, GateVerdict
from longlook.instruments.compare.spec import ComparisonSpec
from longlook.report import escaped, markdown_rows, wording

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKS = {
    GateAnswer.PASSED: "✓ passed",
    GateAnswer.WORSE: "✗ worse",
    GateAnswer.UNMEASURED: "✗ not measured",
    GateAnswer.UNDECIDED: "? undecided",
}
OUTCOMES = {
    GateAnswer.PASSED: "✓ passes",
    GateAnswer.WORSE: "✗ does not pass",
    GateAnswer.UNMEASURED: "✗ does not pass",
    GateAnswer.UNDECIDED: "? is undecided at",
}
"""The headline of a comparison with this answer, before `a gate of 5 %`."""


@dataclass(frozen=True)
class JudgedComparison:
    """A comparison with its answer and its origin. `programs`: name@version → SHA-256."""

    spec: ComparisonSpec
    title: str
    verdict: GateVerdict
    programs: Mapping[str, str]
    released: Mapping[str, str]  # name@version → ISO date, where it is known
    engine: str
    command: str
    report: str
    took_s: float


def junit_xml(judged: JudgedComparison) -> str:
    """Return one suite with a case for each network and metric, and one for each network's failures.

    A failure is worse, an error was not measured, and what is undecided was skipped.
    """
    answers = [case.answer for case in judged.verdict.cases]
    counts = {
        "tests": len(answers),
        "failures": answers.count(GateAnswer.WORSE),
        "errors": answers.count(GateAnswer.UNMEASURED),
        "skipped": answers.count(GateAnswer.UNDECIDED),
    }
    attributes = {name: str(count) for name, count in counts.items()} | {"time": f"{judged.took_s:.3f}"}
    root = ET.Element("testsuites", {"name": "longlook compare", **attributes})
    suite = ET.SubElement(root, "testsuite", {"name": _xml(judged.title), **attributes})
    properties = ET.SubElement(suite, "properties")
    for name, value in facts(judged):
        ET.SubElement(properties, "property", {"name": _xml(name), "value": _xml(value)})
    for case in judged.verdict.cases:
        _test_case(suite, case, judged)
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _test_case(suite: ET.Element, case: GateCase, judged: JudgedComparison) -> None:
    where = {"classname": _xml(f"longlook.{case.subject}"), "name": _xml(case.name)}
    element = ET.SubElement(suite, "testcase", where)
    if case.answer is GateAnswer.PASSED:
        ET.SubElement(element, "system-out").text = _xml(case.reason)
        return
    if case.answer is GateAnswer.UNDECIDED:
        ET.SubElement(element, "skipped", {"message": _xml(f"undecided: {case.reason}")})
        return
    kind = "failure" if case.answer is GateAnswer.WORSE else "error"
    problem = ET.SubElement(element, kind, {"type": str(case.answer), "message": _xml(case.reason)})
    problem.text = _xml(f"{judged.title}\n{case.name}\n{case.reason}\n{_values(case)}\nreport: {judged.report}\n")


def markdown(judged: JudgedComparison) -> str:
    """Return a summary that fits a pull request."""
    verdict = judged.verdict
    bad = sum(case.answer is not GateAnswer.PASSED for case in verdict.cases)
    lines = [
        f"### {escaped(judged.title)}: {OUTCOMES[verdict.answer]} a gate of {verdict.gate_pct:g} %",
        "",
        f"{len(verdict.cases) - bad} of {len(verdict.cases)} comparisons pass. {legend(verdict)}",
        "",
        case_table(verdict),
    ]
    for case in verdict.cases:
        if case.answer is not GateAnswer.PASSED:
            lines.append(f"- **{escaped(case.name)}**: {escaped(case.reason)}")
    if bad:
        lines.append("")
    lines += ["<details><summary>Versions, command and report</summary>", ""]
    lines += [f"- {name}: `{_code(value)}`" for name, value in facts(judged) if name != "report"]
    lines.append(f"- [report](<{judged.report}>)")
    return "\n".join([*lines, "", "</details>", ""])


def legend(verdict: GateVerdict) -> str:
    """Return what the numbers of `case_table` are."""
    return f"+ % means that the contender is better; {_levels(case.estimate for case in verdict.cases)}."


def case_table(verdict: GateVerdict) -> str:
    """Return a Markdown table with a row for each network and metric, and for the failures of each network."""
    header = ("network", "metric", "rounds", "baseline", "contender", "effect", "interval", "p adj", "gate")
    return markdown_rows(header, [_row(case) for case in verdict.cases], frozenset(range(2, 8)))


def _row(case: GateCase) -> tuple[str, ...]:
    item = case.estimate
    of_metric = case.subject != FAILURES
    return (
        case.network,
        case.subject,
        str(item.n_pairs if of_metric else item.n_judged),
        _value(case, baseline=True),
        _value(case, baseline=False),
        wording.effect_of(item) if of_metric else wording.DASH,
        wording.interval_in_unit(item) if of_metric else wording.DASH,
        wording.p_value(case.p),
        _MARKS[case.answer],
    )


def _values(case: GateCase) -> str:
    what = "failed rounds" if case.subject == FAILURES else "means" if case.estimate.is_integrated else "medians"
    return f"{what}: {_value(case, baseline=True)} → {_value(case, baseline=False)}"


def _value(case: GateCase, *, baseline: bool) -> str:
    item = case.estimate
    if case.subject == FAILURES:
        return f"{item.n_baseline_failed if baseline else item.n_contender_failed} of {item.n_judged}"
    return wording.quantity(item.levels[0 if baseline else 1], item.unit)


def _levels(estimates: Iterable[Estimate]) -> str:
    """Return what the values of the arms are."""
    kinds = {item.is_integrated for item in estimates}
    if kinds == {True}:
        return "means over all loads"
    return "medians over rounds" + (", means over all loads if losses are integrated" if True in kinds else "")


def facts(judged: JudgedComparison) -> list[tuple[str, str]]:
    """Return the programs with dates and digests, the gate, the engine, the command and the report's place."""
    dated = [
        (name, f"{f'released {judged.released[name]}, ' if judged.released.get(name) else ''}sha256 {digest}")
        for name, digest in judged.programs.items()
    ]
    gate = f"{judged.verdict.gate_pct:g}%"
    return [*dated, ("gate", gate), ("engine", judged.engine), ("command", judged.command), ("report", judged.report)]


def answer_data(judged: JudgedComparison) -> dict[str, Any]:
    """Return the answer as plain JSON data."""
    verdict = judged.verdict
    return {
        "passed": verdict.passed,
        "answer": str(verdict.answer),
        "gate_pct": verdict.gate_pct,
        "cases": [_case_data(case) for case in verdict.cases],
        "programs": dict(judged.programs),
        "report": judged.report,
    }


def _case_data(case: GateCase) -> dict[str, Any]:
    item = case.estimate
    common = {"network": case.network, "metric": case.subject, "answer": str(case.answer), "reason": case.reason}
    if case.subject == FAILURES:
        failed = {"baseline": item.n_baseline_failed, "contender": item.n_contender_failed, "both": item.n_both_failed}
        return {**common, "rounds": item.n_judged, "failed": failed, "p": case.p}
    return {
        **common,
        "rounds": item.n_pairs,
        "baseline": item.levels[0],
        "contender": item.levels[1],
        "levels": "mean" if item.is_integrated else "median",
        "effect_pct": item.effect_pct,
        "ci_low_pct": item.ci_low_pct,
        "ci_high_pct": item.ci_high_pct,
        "difference": codec.encode(item.difference),
        "p_adjusted": item.p_adjusted,
    }


def _xml(text: str) -> str:
    """Return text without characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\ufffd", text).replace(wording.NBSP, " ")


def _code(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
