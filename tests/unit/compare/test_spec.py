"""From what people write to the study of a comparison, its gate, and the files for other programs."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from longlook.compare import spec as comparison
from longlook.compare.gate import Answer, Verdict, judge_gate
from longlook.compare.output import Judged, answer_data, junit_xml, markdown
from longlook.compare.spec import BASELINE, CONTENDER, ComparisonSpec, Knob, Side
from longlook.core.errors import InputError
from longlook.core.model import Analysis, Estimate
from longlook.core.model import Verdict as Finding
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE

ORDER = ComparisonSpec(
    Side("go", "1.0", "h3"), Side("go", "2.0", "h3"), comparison.parse_networks(["10mbit,36ms"]), 5.0
)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("10mbit,36ms", {"network.rate": "10mbit", "network.rtt": "36ms"}),
        (
            "10 Mbit/s, 36ms, 1bdp, 1%",
            {"network.rate": "10 Mbit/s", "network.rtt": "36ms", "network.queue": "1bdp", "network.loss": "1%"},
        ),
        ("rate=10mbit,up.loss=2%", {"network.rate": "10mbit", "network.up.loss": "2%"}),
        ("network.rtt=5ms,30KB", {"network.rtt": "5ms", "network.queue": "30KB"}),
        ("wolsing2019-dsl", {"network.preset": "wolsing2019-dsl"}),
        ("wolsing2019-dsl,1%", {"network.preset": "wolsing2019-dsl", "network.loss": "1%"}),
        (
            "10mbit,36ms,loss=gilbert_elliott(1%, 25%)",
            {"network.rate": "10mbit", "network.rtt": "36ms", "network.loss": "gilbert_elliott(1%, 25%)"},
        ),
        ("reorder_depth=3,jitter_reorders=true", {"network.reorder_depth": 3, "network.jitter_reorders": True}),
    ],
)
def test_networks(text: str, settings: dict[str, Any]) -> None:
    assert comparison.parse_network(text) == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10mbit,20mbit", "network.rate is set twice"),
        ("10mbit,36", "'36' is neither"),
        ("0.01", "neither"),
        ("wolsing2019-dls", "did you mean 'wolsing2019-dsl'"),
        ("", "neither"),
    ],
)
def test_networks_that_are_none(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        comparison.parse_network(text)


def test_a_network_given_twice() -> None:
    with pytest.raises(InputError, match="given twice"):
        comparison.parse_networks(["10mbit,36ms", " 10mbit,36ms"])


@pytest.mark.parametrize(
    ("text", "knob"),
    [
        ("a=1", Knob("a", 1)),
        ("contender:a=x", Knob("a", "x", CONTENDER)),
        ("server.a=true", Knob("a", True, None, "server")),
        ("baseline:client.a=0.5", Knob("a", 0.5, BASELINE, "client")),
        ("other.a=1", Knob("other.a", 1)),
    ],
)
def test_knobs(text: str, knob: Knob) -> None:
    assert comparison.parse_knob(text) == knob


@pytest.mark.parametrize("text", ["a", "=1", "third:a=1", "contender:=1"])
def test_knobs_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="NAME=VALUE"):
        comparison.parse_knob(text)


def test_sides() -> None:
    assert comparison.parse_side("quic-go", "h3").version
    assert comparison.parse_side("quic-go:h2", "h3").protocol == "h2"
    for text in ("quic-og", "quic-go@0.0.1", "quic-go:"):
        with pytest.raises(InputError):
            comparison.parse_side(text, "h3")


def test_gates() -> None:
    assert comparison.parse_gate("5%") == 5.0
    with pytest.raises(InputError, match="5%"):
        comparison.parse_gate("5")


def test_both_ends_are_compared_unless_one_is_named() -> None:
    study = comparison.make_study(ORDER, CATALOGUE)
    assert {arm.settings["server"] for arm in study.arms} == {"go@1.0", "go@2.0"}
    assert study.arms[0].settings["client"] == "go@1.0"
    server = comparison.make_study(replace(ORDER, role="server", peer="h3only"), CATALOGUE)
    assert [arm.settings["client"] for arm in server.arms] == ["h3only", "h3only"]
    assert len(make_plan(study, catalogue=CATALOGUE).trials) == 2 * 20


def test_tcp_has_a_congestion_control_and_knobs_go_where_they_are_known() -> None:
    knobs = (Knob("streams", 5, CONTENDER), Knob("cc", "cubic", BASELINE))
    spec = replace(ORDER, contender=Side("go", "1.0", "h2"), knobs=knobs)
    study = comparison.make_study(spec, CATALOGUE)
    baseline, contender = study.arms
    assert "congestion_control" not in baseline.settings
    assert contender.settings["congestion_control"] == "cubic"
    assert contender.settings["server_knobs.streams"] == 5
    assert "client_knobs.streams" not in contender.settings
    assert {"server_knobs.cc", "client_knobs.cc"} <= baseline.settings.keys()
    assert baseline.label == "go@1.0 h3 cc=cubic"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knobs": (Knob("windw", 1),)}, "did you mean 'window'"),
        ({"knobs": (Knob("window", 1),)}, "at least 1024"),
        ({"networks": {"x": {"network.rate": "10Mbit"}}}, "network.rtt"),
        ({"networks": {"x": {"network.rat": "10Mbit"}}}, "network.rate"),
        ({"rounds": 9}, "10 rounds or more"),
        ({"metrics": ("page_lod_time",)}, "did you mean 'page_load_time'"),
        ({"contender": Side("h3only", "9", "h2")}, "does not speak it"),
        ({"connection": "0rtt", "contender": Side("go", "1.0", "h2")}, "0-RTT"),
        ({"baseline": Side("browser", "system", "h3")}, "has no server"),
    ],
)
def test_orders_that_cannot_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        comparison.make_study(replace(ORDER, **change), CATALOGUE)


def test_a_small_gate_narrows_what_is_equivalent() -> None:
    assert comparison.make_study(ORDER, CATALOGUE).analysis.equivalence_margin_pct == 3.0
    assert comparison.make_study(replace(ORDER, gate_pct=1.0), CATALOGUE).analysis.equivalence_margin_pct == 1.0
    assert comparison.make_study(replace(ORDER, gate_pct=0.0), CATALOGUE).analysis.equivalence_margin_pct == 0.0


def test_several_metrics_are_corrected_together() -> None:
    study = comparison.make_study(replace(ORDER, metrics=("page_load_time", "handshake_time")), CATALOGUE)
    assert {contrast.family for contrast in study.contrasts} == {"gate"}


def estimate(effect: float | None, half: float = 1.0, p: float | None = 0.0001, **changes: Any) -> Estimate:
    low, high = (None, None) if effect is None else (effect - half, effect + half)
    return replace(
        Estimate(
            "page_load_time", "page_load_time", "s", {"network": "10mbit,36ms"}, "10mbit-36ms", BASELINE, CONTENDER,
            20, 20, 20, 0.405, 0.799, effect, low, high, p, p, p, 1.0, p, Finding.WORSE, None, {},
        ),
        **changes,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("item", "answer", "firm", "words"),
    [
        (estimate(-7), Answer.WORSE, True, "the whole interval lies beyond it"),
        (estimate(-5.5), Answer.WORSE, False, "the interval reaches inside it"),
        (estimate(-5), Answer.PASSED, False, "allows for more than the gate"),
        (estimate(-2), Answer.PASSED, False, "the gate is 5 %"),
        (estimate(7), Answer.PASSED, False, "+7.0 %"),
        (estimate(-8, 9, 0.2), Answer.PASSED, False, "not significant at 0.01: more rounds"),
        (estimate(-8, n_pairs=9, reason="9 rounds"), Answer.UNMEASURED, False, "9 rounds"),
        (estimate(None, p=None), Answer.UNMEASURED, False, "no effect"),
    ],
)
def test_the_gate(item: Estimate, answer: Answer, firm: bool, words: str) -> None:
    verdict = judge_gate([item], 5.0, Analysis())
    case = verdict.cases[0]
    assert (case.answer, case.firm) == (answer, firm)
    assert words in case.reason
    assert verdict.passed is (answer is Answer.PASSED)


def judged(verdict: Verdict) -> Judged:
    programs = {"go@1.0": "ab" * 32, "go@2.0": "cd" * 32, "link": "ef" * 32}
    dates = {"go@1.0": "2020-05-06", "go@2.0": "", "link": ""}
    return Judged(ORDER, "go@2.0 against go@1.0", verdict, programs, dates, "virtual", "longlook compare …",
                  "runs/x/report/index.html", 12.3456)  # fmt: skip


THREE = judge_gate(
    [
        estimate(-97.2),
        estimate(1.5, cell={"network": "<dsl> & \x07|"}, metric="handshake_time"),
        estimate(None, p=None, n_pairs=0, reason="arm contender failed in all 20 rounds"),
    ],
    5.0,
    Analysis(),
)

XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="longlook compare" tests="3" failures="1" errors="1" skipped="0" time="12.346">
 <testsuite name="go@2.0 against go@1.0" tests="3" failures="1" errors="1" skipped="0" time="12.346">
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
   <system-out>+1.5 % (95 % interval 0.5 to 2.5 %, adjusted p 0.0001); the gate is 5 %</system-out>
  </testcase>
  <testcase classname="longlook.page_load_time" name="10mbit,36ms: page_load_time">
   <error type="not measured" message="arm contender failed in all 20 rounds">go@2.0 against go@1.0
10mbit,36ms: page_load_time
arm contender failed in all 20 rounds
medians: 405 ms → 799 ms
report: runs/x/report/index.html
</error>
  </testcase>
 </testsuite>
</testsuites>
"""
WORSE = (
    "worse: −97 % (95 % interval −98 to −96 %, adjusted p 0.0001); the gate is 5 %, and the whole interval lies "
    "beyond it"
)


def test_junit_xml_is_well_formed_and_as_programs_expect_it() -> None:
    text = junit_xml(judged(THREE))
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


def test_markdown_is_fit_for_a_pull_request() -> None:
    assert markdown(judged(THREE)) == MARKDOWN.replace("~", "\u00a0")


MARKDOWN = f"""\
### go@2.0 against go@1.0: ✗ does not pass a gate of 5 %

1 of 3 comparisons pass. + % means that the contender is better; 20 rounds each, medians over rounds.

| network | metric | baseline | contender | effect | interval | p adj | gate |
| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |
| 10mbit,36ms | page_load_time | 405~ms | 799~ms | −97~% | −98 to −96~% | 0.0001 | ✗ worse |
| &lt;dsl> & \x07\\| | handshake_time | 405~ms | 799~ms | +1.5~% | 0.5 to 2.5~% | 0.0001 | ✓ passed |
| 10mbit,36ms | page_load_time | 405~ms | 799~ms | – | – | – | ✗ not measured |

- **10mbit,36ms: page_load_time**: {WORSE}
- **10mbit,36ms: page_load_time**: arm contender failed in all 20 rounds

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
    data = answer_data(judged(THREE))
    assert data["passed"] is False
    assert [case["answer"] for case in data["cases"]] == ["worse", "passed", "not measured"]
