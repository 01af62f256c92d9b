"""Performance envelopes of clouds whose agreement is known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.timeline.envelope import conformance, envelope, points_of

from .test_competition import COMPETITION

SCALE = (10.0, 50.0)


def cloud(seed: int, mbps: float = 5.0, ms: float = 40.0, count: int = 200, spread: float = 1.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.stack([random.normal(mbps, spread, count), random.normal(ms, 5 * spread, count)], axis=1)


def test_a_sender_conforms_to_itself_and_nearly_to_another_draw() -> None:
    one, other = envelope(cloud(1), SCALE), envelope(cloud(2), SCALE)
    assert one is not None and other is not None
    assert conformance(one, one) == 1
    assert conformance(one, other) > 0.85


def test_senders_that_never_meet_do_not_conform() -> None:
    one, other = envelope(cloud(1), SCALE), envelope(cloud(2, mbps=20), SCALE)
    assert one is not None and other is not None
    assert conformance(one, other) == 0


def test_outliers_do_not_make_an_envelope_large() -> None:
    points = np.concatenate([cloud(1), [[50.0, 400.0]] * 5])
    one = envelope(points, SCALE)
    assert one is not None
    assert one.hull[:, 0].max() < 1.0


@given(st.integers(0, 1000), st.integers(0, 1000), st.floats(-3, 3))
def test_conformance_is_a_share_and_the_same_both_ways(one_seed: int, other_seed: int, shift: float) -> None:
    one, other = envelope(cloud(one_seed, count=40), SCALE), envelope(cloud(other_seed, 5 + shift, count=40), SCALE)
    assert one is not None and other is not None
    assert conformance(one, other) == conformance(other, one)
    assert 0 <= conformance(one, other) <= 1


def test_too_few_points_and_points_on_a_line_have_no_envelope() -> None:
    assert envelope(cloud(1, count=7), SCALE) is None
    assert envelope(np.stack([np.arange(20.0), np.arange(20.0)], axis=1), SCALE) is None


def test_points_are_the_subjects_throughput_and_delay_every_ten_round_trips() -> None:
    points = points_of(replace(COMPETITION, rtt_s=0.05))
    assert len(points) == 120
    assert points[:, 0] == pytest.approx(2.5, rel=0.05)
    assert points[:, 1] == pytest.approx(60)
    assert len(points_of(COMPETITION)) == 0  # its round trip is not known
