"""Drawn settings in words."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.stats.drawn_settings import name_of, quantity, scale_of, sentence
from longlook.core.dependence import Dependence, Shape

STEP = Dependence(
    setting="workload.object_bytes",
    n=20,
    low=95e3,
    high=105e3,
    shape=Shape.STEP,
    split=98.5e3,
    effect_low_pct=46.2,
    effect_high_pct=51.9,
    share=0.97,
    p=0.0005,
    p_cliff=0.0005,
    is_cliff=True,
)


@pytest.mark.parametrize(
    ("setting", "name", "value", "shown"),
    [
        ("network.rtt_ms", "round trip time", 35.214159, "35.214 ms"),
        ("network.rate_mbit", "rate", 100.0, "100 Mbit/s"),
        ("network.queue_bytes", "queue", 450321.0, "450.32 KB"),
        ("workload.object_bytes", "object's size", 950.0, "950 B"),
        ("workload.object_bytes", "object's size", 10_512_345.0, "10.512 MB"),
        ("start_phase_ms", "start phase", 0.0, "0 ms"),
        ("order", "order of requests", 17.0, "17"),
        ("certificate_bytes", "certificate's padding", 350.0, "350 B"),
        ("network.loss_pct", "loss", 0.98, "0.98 %"),
        ("network.reorder_wait_ms", "reorder wait", 3.0, "3 ms"),
    ],
)
def test_names_and_values_are_those_that_people_read(setting: str, name: str, value: float, shown: str) -> None:
    assert (name_of(setting), quantity(setting, value)) == (name, shown)


def test_a_scale_is_one_for_all_values_of_a_setting() -> None:
    assert scale_of("workload.object_bytes", 105e3) == (1e3, "KB")
    assert scale_of("network.rtt_ms", 1e6) == (1.0, "ms")


def test_a_step_is_written_with_the_greater_values_first(snapshot: SnapshotAssertion) -> None:
    assert sentence(STEP) == snapshot


def test_a_trend_is_written_with_both_ends(snapshot: SnapshotAssertion) -> None:
    trend = replace(STEP, setting="network.rtt_ms", low=34.2, high=37.8, shape=Shape.TREND, split=None)
    assert sentence(trend) == snapshot


def test_a_change_of_sign_is_named(snapshot: SnapshotAssertion) -> None:
    turned = replace(STEP, effect_low_pct=-4.12)
    assert sentence(turned) == snapshot


def test_effects_have_the_decimals_that_tell_them_apart(snapshot: SnapshotAssertion) -> None:
    close = replace(STEP, effect_low_pct=51.31)
    assert sentence(close) == snapshot


def test_an_effect_beyond_all_floats_is_written_as_such(snapshot: SnapshotAssertion) -> None:
    assert sentence(replace(STEP, effect_low_pct=None)) == snapshot
