"""A judged comparison for other programs: JUnit XML, Markdown and JSON."""

import xml.etree.ElementTree as ET

import pytest

from longlook.core.model import Analysis
from longlook.instruments.compare.gate import GateVerdict, judge_gate
from longlook.instruments.compare.output import JudgedComparison, answer_data, junit_xml, markdown
from longlook.instruments.compare.spec import ComparisonSpec
from longlook.study import parse_networks
from longlook.study.catalogue import ComparedSide
from tests.data.gates import estimate, failed

SPEC = ComparisonSpec(
    ComparedSide("go", "1.0", "h3"), ComparedSide("go", "2.0", "h3"), parse_networks(["10mbit,36ms"]), 5.0
)


def judged(verdict: GateVerdict) -> JudgedComparison:
    programs = {"go@1.0": "ab" * 32, "go@2.0": "cd" * 32, "link": "ef" * 32}
    dates = {"go@1.0": "2020-05-06", "go@2.0": "", "link": ""}
    return JudgedComparison(SPEC, "go@2.0 against go@1.0", verdict, programs, dates, "virtual", "longlook compare …",
                  "runs/x/report/index.html", 12.3456)  # fmt: skip


CASES = judge_gate(
    [
        estimate(-97.2),
        estimate(1.5, cell={"network": "<dsl> & \x07|"}, cell_id="dsl", metric="handshake_time"),
        estimate(None, p=None, n_pairs=0, reason="arm contender failed in all 20 rounds"),
        failed(3, cell={"network": "lte"}, cell_id="lte", ci_low_pct=-6.0),
    ],
    5.0,
    Analysis(),
)

XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="longlook compare" tests="7" failures="1" errors="1" skipped="2" time="12.346">
 <testsuite name="go@2.0 against go@1.0" tests="7" failures="1" errors="1" skipped="2" time="12.346">
  <properties>
   <property name="go@1.0" value="released 2020-05-06, sha256 {a}" />
   <property name="go@2.0" value="sha256 {c}" />
   <property name="link" value="sha256 {e}" />
   <property name="gate" value="5%" />
   <property name="engine" value="virtual" />
   <property name="command" value="longlook compare …" />
   <property name="report" value="runs/x/report/index.html" />
  </properties>
  <testcase classname="longlook.page_load_time" name="10mbit,36ms: page_load_time">
   <failure type="worse" message="{worse}">go@2.0 against go@1.0
10mbit,36ms: page_load_time
{worse}
medians: 405 ms → 799 ms
report: runs/x/report/index.html
</failure>
  </testcase>
  <testcase classname="longlook.handshake_time" name="&lt;dsl&gt; &amp; \ufffd|: handshake_time">
   <system-out>+1.5 % (95 % interval 0.5 to 2.5 %, 20 rounds), the whole interval within the gate of 5 %</system-out>
  </testcase>
  <testcase classname="longlook.page_load_time" name="10mbit,36ms: page_load_time">
   <error type="not measured" message="arm contender failed in all 20 rounds">go@2.0 against go@1.0
10mbit,36ms: page_load_time
arm contender failed in all 20 rounds
medians: 405 ms → 799 ms
report: runs/x/report/index.html
</error>
  </testcase>
  <testcase classname="longlook.page_load_time" name="lte: page_load_time">
   <skipped message="undecided: 0 % (95 % interval −6.0 to 1.0 %, 17 rounds), across the gate of 5 %: \
more rounds, or a wider gate, would decide" />
  </testcase>
  <testcase classname="longlook.failed rounds" name="10mbit,36ms: failed rounds">
   <system-out>of 20 rounds the contender failed in 0, the baseline in 0</system-out>
  </testcase>
  <testcase classname="longlook.failed rounds" name="&lt;dsl&gt; &amp; \ufffd|: failed rounds">
   <system-out>of 20 rounds the contender failed in 0, the baseline in 0</system-out>
  </testcase>
  <testcase classname="longlook.failed rounds" name="lte: failed rounds">
   <skipped message="undecided: of 20 rounds the contender failed in 3, the baseline in 0 (p 0.125): \
more rounds would decide" />
  </testcase>
 </testsuite>
</testsuites>
"""
WORSE = "worse: −97 % (95 % interval −98 to −96 %, 20 rounds), the whole interval beyond the gate of 5 %"


def test_junit_xml_is_well_formed_and_as_programs_expect_it() -> None:
    text = junit_xml(judged(CASES))
    assert text == XML.format(a="ab" * 32, c="cd" * 32, e="ef" * 32, worse=WORSE)
    root = ET.fromstring(text.encode())
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        assert {child.tag for child in suite} == {"properties", "testcase"}
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
        assert float(suite.attrib["time"]) >= 0
        assert all(case.attrib.keys() == {"classname", "name"} for case in cases)
        assert all(failure.attrib.keys() == {"type", "message"} for failure in suite.iter("failure"))


def test_values_are_means_if_losses_are_integrated() -> None:
    integrated = estimate(-97.2, unseen_pct=1.0, baseline_mean=0.5, contender_mean=0.6)
    alone = judged(judge_gate([integrated], 5.0, Analysis()))
    assert "contender is better; means over all loads." in markdown(alone)
    assert "means: 500 ms → 600 ms" in junit_xml(alone).replace("\u00a0", " ")
    case = answer_data(alone)["cases"][0]
    assert (case["baseline"], case["contender"], case["levels"]) == (0.5, 0.6, "mean")
    both = judged(judge_gate([integrated, estimate(1.5, cell={"network": "dsl"}, cell_id="dsl")], 5.0, Analysis()))
    assert "medians over rounds, means over all loads if losses are integrated." in markdown(both)
    assert answer_data(both)["cases"][1]["levels"] == "median"


def test_markdown_is_fit_for_a_pull_request() -> None:
    assert markdown(judged(CASES)) == MARKDOWN.replace("~", "\u00a0")


MARKDOWN = f"""\
### go@2.0 against go@1.0: ✗ does not pass a gate of 5 %

3 of 7 comparisons pass. + % means that the contender is better; medians over rounds.

| network | metric | rounds | baseline | contender | effect | interval | p adj | gate |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| 10mbit,36ms | page_load_time | 20 | 405~ms | 799~ms | −97~% | −98 to −96~% | 0.0001 | ✗ worse |
| &lt;dsl> &amp; \\\\x07\\| | handshake_time | 20 | 405~ms | 799~ms | +1.5~% | 0.5 to 2.5~% | 0.0001 | ✓ passed |
| 10mbit,36ms | page_load_time | 0 | 405~ms | 799~ms | – | – | – | ✗ not measured |
| lte | page_load_time | 17 | 405~ms | 799~ms | 0~% | −6.0 to 1.0~% | 0.0001 | ? undecided |
| 10mbit,36ms | failed rounds | 20 | 0 of 20 | 0 of 20 | – | – | 1.000 | ✓ passed |
| &lt;dsl> &amp; \\\\x07\\| | failed rounds | 20 | 0 of 20 | 0 of 20 | – | – | 1.000 | ✓ passed |
| lte | failed rounds | 20 | 0 of 20 | 3 of 20 | – | – | 0.125 | ? undecided |

- **10mbit,36ms: page_load_time**: {WORSE}
- **10mbit,36ms: page_load_time**: arm contender failed in all 20 rounds
- **lte: page_load_time**: 0 % (95 % interval −6.0 to 1.0 %, 17 rounds), across the gate of 5 %: \
more rounds, or a wider gate, would decide
- **lte: failed rounds**: of 20 rounds the contender failed in 3, the baseline in 0 (p 0.125): \
more rounds would decide

<details><summary>Versions, command and report</summary>

- go@1.0: `released 2020-05-06, sha256 {"ab" * 32}`
- go@2.0: `sha256 {"cd" * 32}`
- link: `sha256 {"ef" * 32}`
- gate: `5%`
- engine: `virtual`
- command: `longlook compare …`
- [report](<runs/x/report/index.html>)

</details>
"""


def test_machines_get_the_answer_too() -> None:
    data = answer_data(judged(CASES))
    assert (data["passed"], data["answer"]) == (False, "worse")
    answers = ["worse", "passed", "not measured", "undecided", "passed", "passed", "undecided"]
    assert [case["answer"] for case in data["cases"]] == answers
    assert data["cases"][0]["ci_high_pct"] == pytest.approx(-96.2)
    assert data["cases"][-1]["failed"] == {"baseline": 0, "contender": 3, "both": 0}
