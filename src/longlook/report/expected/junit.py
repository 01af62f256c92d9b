"""Judged expectations as JUnit XML, which test runners read: a case for each expectation in each trial."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from longlook.core import JudgedExpectation, Study, visible
from longlook.report import wording
from longlook.report.expected import text


def expectations_junit(study: Study, judged: Sequence[JudgedExpectation]) -> str:
    """Return one suite: a failure saw another value, an error is a trial that does not say it."""
    failures = sum(not each.holds and each.seen is not None for each in judged)
    errors = sum(each.seen is None for each in judged)
    counts = {"tests": str(len(judged)), "failures": str(failures), "errors": str(errors)}
    root = ET.Element("testsuites", {"name": "longlook run", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": study.id, **counts})
    for each in judged:
        _case(suite, study, each)
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, study: Study, judged: JudgedExpectation) -> None:
    where = text.place(study, judged)
    name = f"{judged.expectation.name}: {judged.expectation.text}{f' [{where}]' if where else ''}"
    element = ET.SubElement(suite, "testcase", {"classname": f"longlook.{study.id}", "name": _xml(name)})
    seen = _xml(text.seen(judged))
    if judged.holds:
        ET.SubElement(element, "system-out").text = seen
        return
    kind = "error" if judged.seen is None else "failure"
    problem = ET.SubElement(element, kind, {"message": f"expected {_xml(judged.expectation.text)}, saw {seen}"})
    problem.text = f"trial {judged.trial_id}"


def _xml(words: str) -> str:
    return visible(words).replace(wording.NBSP, " ")
