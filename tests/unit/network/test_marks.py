"""Queues that mark, and middleboxes that rewrite marks, as settings."""

from typing import Any

import pytest

from longlook.core.problems import SettingError
from longlook.core.units import UnitError
from longlook.network import settings as network
from longlook.network.stages import LIMITED_BY_LINUX

BASE = {"network.rate": "10Mbit", "network.rtt": "36ms"}


def kinds(**more: Any) -> list[str]:
    return [stage.kind for stage in network.unchecked_link(given(**more)).down]


def given(**more: Any) -> dict[str, Any]:
    settings = {f"network.{key.replace('__', '.')}": value for key, value in more.items()}
    return {**BASE, **{key: network.SETTINGS[key](value) for key, value in settings.items()}}


def parameters(**more: Any) -> dict[str, Any]:
    found = [stage for stage in network.unchecked_link(given(**more)).down if "rate_bps" in stage.parameters]
    return dict(found[0].parameters)


def test_dualpi2_has_the_defaults_of_the_link_and_what_is_set() -> None:
    assert parameters(aqm="dualpi2") == {"rate_bps": 10_000_000}
    assert "dualpi2" in LIMITED_BY_LINUX
    assert parameters(
        aqm="dualpi2", dualpi2_target="20 ms", dualpi2_coupling=1, dualpi2_protection="20%", dualpi2_overload="overflow"
    ) == {
        "rate_bps": 10_000_000, "target_ns": 20_000_000, "coupling": 1.0, "protection": 0.2, "overload": "overflow",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        ("1ms", {"threshold_ns": 1_000_000}),
        ("30 KB", {"threshold_bytes": 30_000}),
        ("20packets", {"threshold_packets": 20}),
        (None, {"threshold_ns": 1_000_000}),
    ],
)
def test_a_step_has_one_threshold(threshold: str | None, expected: dict[str, int]) -> None:
    own = parameters(aqm="step", **({} if threshold is None else {"step_threshold": threshold}))
    assert {key: value for key, value in own.items() if key.startswith("threshold")} == expected
    assert own["queue_bytes"] == 45_000


def test_a_middlebox_stands_before_the_queue_or_right_behind_it() -> None:
    both = kinds(ecn_remark="bleach", ecn_remark_behind="tcp ce_to_ect0", block="icmp", aqm="codel", ecn=True)
    assert both == ["ecn_remark", "block", "codel", "ecn_remark", "delay"]
    assert kinds(down__ecn_remark="udp bleach") == ["ecn_remark", "rate", "delay"]
    assert kinds(up__ecn_remark="udp bleach") == ["rate", "delay"]
    assert kinds(ecn_remark="off") == ["rate", "delay"]


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("ecn_remark", "blech", "did you mean 'bleach'"),
        ("ecn_remark", "sctp bleach", "a protocol (udp, tcp, icmp, any) may stand before it"),
        ("step_threshold", "0ms", "must be above 0"),
        ("step_threshold", "1bdp", "must be above 0: a time (1ms), a size (30KB) or a number of packets"),
        ("step_threshold", "soon", "or a queue that a packet meets: 30KB, 20packets"),
        ("dualpi2_coupling", 65, "write a number from 0 to 64"),
        ("dualpi2_coupling", True, "write a number from 0 to 64"),
        ("dualpi2_target", "0s", "must be above 0s"),
        ("dualpi2_scheduler", "wrr", "allowed: weighted, time_shifted"),
        ("dualpi2_step_packets", -1, "write a number of packets"),
    ],
)
def test_a_value_that_cannot_be_names_what_is_allowed(setting: str, value: object, allowed: str) -> None:
    with pytest.raises(UnitError) as caught:
        network.SETTINGS[f"network.{setting}"](value)
    assert allowed in str(caught.value)


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ({"dualpi2_target": "1ms"}, "network.dualpi2_target", 'write for example network.aqm = "dualpi2"'),
        ({"step_threshold": "1ms"}, "network.step_threshold", 'write for example network.aqm = "step"'),
        ({"ecn": True}, "network.ecn", "a drop-tail queue never marks"),
        ({"aqm": "dualpi2", "ecn": False}, "network.ecn", "dualpi2 signals by marks and cannot do without"),
        ({"aqm": "step", "queue": "uniform(10KB, 20KB, 1s)"}, "network.queue", "varies, which step cannot"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(more: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        network.unchecked_link(given(**more))
    assert caught.value.key == key
    assert message in str(caught.value)


def test_ecn_is_implied_where_the_queue_always_marks() -> None:
    assert parameters(aqm="dualpi2", ecn=True) == {"rate_bps": 10_000_000}
