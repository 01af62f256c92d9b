"""From what people write to the study of a comparison."""

import re
from dataclasses import replace
from typing import Any

import pytest

from longlook.core.errors import InputError
from longlook.core.model import Stopping
from longlook.instruments.compare import spec as comparison
from longlook.instruments.compare.spec import BASELINE, CONTENDER, ComparisonSpec, SideKnob
from longlook.study import catalogue, parse_network, parse_networks
from longlook.study.catalogue import ComparedSide
from longlook.study.laws import STANDARD_LAWS
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE

ORDER = ComparisonSpec(
    ComparedSide("go", "1.0", "h3"), ComparedSide("go", "2.0", "h3"), parse_networks(["10mbit,36ms"]), 5.0
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
    assert parse_network(text) == settings


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
        parse_network(text)


def test_a_network_given_twice() -> None:
    with pytest.raises(InputError, match="given twice"):
        parse_networks(["10mbit,36ms", " 10mbit,36ms"])


@pytest.mark.parametrize(
    ("text", "knob"),
    [
        ("a=1", SideKnob("a", 1)),
        ("contender:a=x", SideKnob("a", "x", CONTENDER)),
        ("server.a=true", SideKnob("a", True, None, "server")),
        ("baseline:client.a=0.5", SideKnob("a", 0.5, BASELINE, "client")),
        ("other.a=1", SideKnob("other.a", 1)),
    ],
)
def test_knobs(text: str, knob: SideKnob) -> None:
    assert comparison.parse_knob(text) == knob


@pytest.mark.parametrize("text", ["a", "=1", "third:a=1", "contender:=1"])
def test_knobs_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="NAME=VALUE"):
        comparison.parse_knob(text)


def test_sides() -> None:
    assert catalogue.parse_side("quic-go", "h3").version
    assert catalogue.parse_side("quic-go:h2", "h3").protocol == "h2"
    for text in ("quic-og", "quic-go@1", "quic-go:"):
        with pytest.raises(InputError):
            catalogue.parse_side(text, "h3")


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
    assert len(make_plan(study, catalogue=CATALOGUE).trials) == 2 * 40


def test_rounds_are_as_many_as_decide_unless_a_number_is_named() -> None:
    deciding = comparison.make_study(replace(ORDER, max_rounds=30), CATALOGUE)
    assert (deciding.rounds, deciding.stopping) == (30, Stopping(5.0))
    fixed = comparison.make_study(replace(ORDER, rounds=12), CATALOGUE)
    assert (fixed.rounds, fixed.stopping) == (12, None)


def test_tcp_has_a_congestion_control_and_knobs_go_where_they_are_known() -> None:
    knobs = (SideKnob("streams", 5, CONTENDER), SideKnob("cc", "cubic", BASELINE))
    spec = replace(ORDER, contender=ComparedSide("go", "1.0", "h2"), knobs=knobs)
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
        ({"knobs": (SideKnob("windw", 1),)}, "did you mean 'window'"),
        ({"knobs": (SideKnob("window", 1),)}, "at least 1024"),
        ({"networks": {"x": {"network.rate": "10Mbit"}}}, "network.rtt"),
        ({"networks": {"x": {"network.rat": "10Mbit"}}}, "network.rate"),
        ({"rounds": 9}, "10 rounds or more"),
        ({"max_rounds": 9}, "max_rounds = 9: a verdict needs analysis.min_rounds = 10 or more"),
        ({"alpha": 0.5}, "--alpha 0.5: not above 0 and below 0.5"),
        ({"metrics": ("page_lod_time",)}, "did you mean 'page_load_time'"),
        ({"contender": ComparedSide("h3only", "9", "h2")}, "does not speak it"),
        ({"connection": "0rtt", "contender": ComparedSide("go", "1.0", "h2")}, "cannot do this over h2"),
        ({"baseline": ComparedSide("browser", "system", "h3")}, "has no server"),
    ],
)
def test_orders_that_cannot_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        comparison.make_study(replace(ORDER, **change), CATALOGUE)


def test_a_small_gate_narrows_what_is_equivalent() -> None:
    assert comparison.make_study(ORDER, CATALOGUE).analysis.equivalence_margin_pct == 5.0
    assert comparison.make_study(replace(ORDER, gate_pct=9.0), CATALOGUE).analysis.equivalence_margin_pct == 5.0
    assert comparison.make_study(replace(ORDER, gate_pct=1.0), CATALOGUE).analysis.equivalence_margin_pct == 1.0
    assert comparison.make_study(replace(ORDER, gate_pct=0.0), CATALOGUE).analysis.equivalence_margin_pct == 0.0


def test_several_metrics_are_corrected_together() -> None:
    study = comparison.make_study(replace(ORDER, metrics=("page_load_time", "handshake_time")), CATALOGUE)
    assert {contrast.family for contrast in study.contrasts} == {"gate"}


def test_the_confidence_of_an_interval_leaves_alpha_for_all_answers_together() -> None:
    assert comparison.make_study(ORDER, CATALOGUE).analysis.confidence == pytest.approx(0.95)  # two decisions of 2.5 %
    two = replace(ORDER, networks={"a": {}, "b": {}}, metrics=("page_load_time", "handshake_time"), alpha=0.06)
    assert comparison.confidence(two) == pytest.approx(1 - 0.12 / 6)


def test_rounds_draw_about_the_networks_unless_told_otherwise() -> None:
    assert comparison.make_study(ORDER, CATALOGUE).around == STANDARD_LAWS
    assert comparison.make_study(replace(ORDER, around="none"), CATALOGUE).around == {}
    with pytest.raises(InputError, match='around = "some": allowed: standard, none'):
        comparison.make_study(replace(ORDER, around="some"), CATALOGUE)
