"""The result of a gate of a repository: for people, for machines, as a comment, as JUnit XML and as SARIF."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

from longlook.core import Better, codec, find_metric
from longlook.explain import Answer, Conclusion
from longlook.instruments.compare.gate import FAILURES, GateAnswer, GateCase
from longlook.instruments.compare.output import OUTCOMES, answer_data, case_table, facts, junit_xml, legend
from longlook.instruments.compare.show import gate_table
from longlook.instruments.compare.tree_gate import GateResult
from longlook.report import answers_markdown, escaped, line, wording
from longlook.terminal import Renderings

MARKER = "<!-- longlook gate -->"
"""The first line of a comment, by which a pipeline finds the comment that it wrote before."""

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    GateAnswer.WORSE: "error",
    GateAnswer.UNMEASURED: "error",
    GateAnswer.UNDECIDED: "warning",
    GateAnswer.PASSED: "none",
}


def gate_shown(result: GateResult, command: str) -> Renderings:
    """Return all forms of a result; `command` repeats it."""
    return Renderings(
        people=lambda: _people(result),
        lines=lambda: [gate_data(result)],
        markdown=lambda: comment(result, command),
        junit=lambda: _junit(result),
        sarif=lambda: sarif(result),
        benchmark=lambda: benchmark(result),
        bencher=lambda: bencher(result),
    )


def _people(result: GateResult) -> Iterator[Any]:
    yield from result.change.notes
    if result.judged is not None:
        yield gate_table(result.judged.verdict)
    yield from (f"{_network(result, each.cell_id)}: {_reason(each)}" for each in result.answers)
    yield headline(result)


def headline(result: GateResult) -> str:
    """Return the answer in a sentence."""
    change = result.change
    sides = f"{change.head.name} against {change.base.name}"
    if result.judged is None:
        return f"{sides}: ✓ equal byte for byte (sha256 {result.digest[:12]}), so no trial was run"
    verdict = result.judged.verdict
    return f"{sides}: {OUTCOMES[verdict.answer]} a gate of {verdict.gate_pct:g} %"


def gate_data(result: GateResult) -> dict[str, Any]:
    """Return the result as plain JSON data."""
    change = result.change
    sides = {"stack": change.stack, "base": change.base.version, "head": change.head.version}
    common = {"event": "gate", **sides, "base_commit": change.base_commit.name, "notes": list(change.notes)}
    if result.judged is None:
        return {**common, "passed": True, "answer": "equal", "digest": result.digest}
    return {**common, **answer_data(result.judged), "answers": codec.encode(result.answers)}


def comment(result: GateResult, command: str) -> str:
    """Return a comment for a pull request: the answer, why, the command that repeats it, and the folded table."""
    lines = [MARKER, f"### {escaped(headline(result))}", ""]
    lines += [f"{escaped(note)}.\n" for note in result.change.notes]
    if (judged := result.judged) is not None:
        for case in judged.verdict.cases:
            if case.answer is not GateAnswer.PASSED:
                lines.append(f"- **{escaped(case.name)}**: {escaped(f'{case.reason}{_why(result, case)}')}")
        passed = sum(case.answer is GateAnswer.PASSED for case in judged.verdict.cases)
        lines += ["", f"<details><summary>{passed} of {len(judged.verdict.cases)} comparisons pass</summary>", ""]
        lines += [escaped(legend(judged.verdict)), "", case_table(judged.verdict)]
        lines += [f"- {name}: `{value}`" for name, value in facts(judged) if name not in ("report", "command")]
        lines += ["", "</details>", ""]
    if result.answers:
        lines += ["<details><summary>Why: each cause, and what a change of it closes</summary>", ""]
        lines += [answers_markdown(result.answers), "</details>", ""]
    return "\n".join([*lines, "Repeat it:", "", f"    {command}", ""])


def _why(result: GateResult, case: GateCase) -> str:
    return next((f"; {_reason(each)}" for each in result.answers if each.cell_id == case.estimate.cell_id), "")


def _reason(answer: Answer) -> str:
    """Return the answer in a line, with what traces suggest and no change could test."""
    untestable = [wording.inner(each.title) for each in answer.findings if each.conclusion is Conclusion.UNTESTABLE]
    return line(answer) + (f"; suspected, and no setting tests it: {', '.join(untestable)}" if untestable else "")


def _network(result: GateResult, cell_id: str) -> str:
    cases = [] if result.judged is None else result.judged.verdict.cases
    return next((case.network for case in cases if case.estimate.cell_id == cell_id), cell_id)


def _junit(result: GateResult) -> str:
    if result.judged is not None:
        return junit_xml(result.judged)
    root = ET.Element("testsuites", {"name": "longlook gate", "tests": "1", "failures": "0", "errors": "0"})
    suite = ET.SubElement(root, "testsuite", {"name": headline(result), "tests": "1", "failures": "0", "errors": "0"})
    ET.SubElement(suite, "testcase", {"classname": "longlook.gate", "name": "equal byte for byte"})
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def sarif(result: GateResult) -> str:
    """Return the cases that did not pass as SARIF 2.1.0 (OASIS 2020), with the network and metric as logical place."""
    cases = () if result.judged is None else result.judged.verdict.cases
    metrics = list(dict.fromkeys(case.subject for case in cases))
    rules = [{"id": name, "shortDescription": {"text": f"{name} is worse by more than is allowed"}} for name in metrics]
    driver = {"name": "longlook", "rules": rules}
    found = [
        {
            "ruleId": case.subject,
            "level": _LEVELS[case.answer],
            "message": {"text": f"{case.name}: {case.reason}{_why(result, case)}".replace(wording.NBSP, " ")},
            "locations": [{"logicalLocations": [{"fullyQualifiedName": f"{result.change.stack}/{case.network}"}]}],
        }
        for case in cases
        if case.answer is not GateAnswer.PASSED
    ]
    document = {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}
    return json.dumps(document, indent=1) + "\n"


def benchmark(result: GateResult) -> str:
    """Return the values of the change for the action github-action-benchmark: its tool `customSmallerIsBetter`.

    Metrics of which more is better are left out, since a file of that tool has one direction.
    """
    rows = [
        {
            "name": f"{result.change.stack}: {case.network}: {case.subject}",
            "unit": case.estimate.unit,
            "value": case.estimate.levels[1],
            "extra": f"{result.change.head.name}, against {result.change.base.name}: {case.reason}",
        }
        for case in _measured(result)
        if find_metric(case.subject).better is Better.LOWER
    ]
    return json.dumps(rows, indent=1) + "\n"


def bencher(result: GateResult) -> str:
    """Return the values of the change in Bencher's metric format: benchmark → measure → value."""
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for case in _measured(result):
        name = f"{result.change.stack}: {case.network}"
        found.setdefault(name, {})[case.subject] = {"value": case.estimate.levels[1]}
    return json.dumps(found, indent=1) + "\n"


def _measured(result: GateResult) -> list[GateCase]:
    cases = () if result.judged is None else result.judged.verdict.cases
    return [case for case in cases if case.subject != FAILURES and case.estimate.levels[1] is not None]
