"""A limit of the rate that a sender's own log shows, and what looks like one and is none."""

from collections.abc import Callable

import numpy as np
import pytest

from longlook.causes.path import POLICED, limit_of
from longlook.explain.cause import Intervention, Target
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Side
from tests.data.scenes import Scene, ns
from tests.data.sides import USEFUL, fetching, found_by, pair, side

PACKET_BYTES = 1_000
RATE_BPS = 1_000_000
STEP_MS = 4.0
"""Packets leave at twice the rate, in bursts of ten with pauses of ten between: the bucket empties and fills."""

Rule = Callable[[int, float], bool]


def bucket(depth_bytes: int = 4 * PACKET_BYTES) -> Rule:
    """A policer: whether packet number N at a time in ms is dropped."""
    level, last_ms = float(depth_bytes), 0.0

    def drops(_number: int, at_ms: float) -> bool:
        nonlocal level, last_ms
        level = min(depth_bytes, level + (at_ms - last_ms) * RATE_BPS / 8e3)
        last_ms = at_ms
        if level < PACKET_BYTES:
            return True
        level -= PACKET_BYTES
        return False

    return drops


def coin(seed: int = 1) -> Rule:
    random = np.random.default_rng(seed)
    return lambda _number, _at_ms: bool(random.random() < 0.25)


def sending(drops: Rule, rtt_ms: Callable[[float], float] = lambda _at_ms: 40.0) -> Side:
    """An arm whose server logs 200 packets, those that a rule drops as lost a round trip later."""
    scene: Scene = fetching()
    at_ms = 20.0
    for number in range(200):
        at_ms += STEP_MS if number % 20 else 12 * STEP_MS
        scene.log(at_ms, "packet_sent", packet_number=number, size_bytes=PACKET_BYTES, space="1rtt")
        scene.log(at_ms, "metrics", latest_rtt_ns=ns(rtt_ms(at_ms)))
        if drops(number, at_ms):
            scene.log(at_ms + 40.0, "packet_lost", packet_number=number, size_bytes=PACKET_BYTES)
    return side(scene, (USEFUL, 100.0), (LedgerClass.LOSS_DETECTION, 1_500.0))


def test_losses_beyond_a_rate_without_a_queue_are_those_of_a_limit() -> None:
    tested = pair(sending(bucket()))
    limit = limit_of(tested.loser)
    assert limit is not None and limit.round_trip_ratio == 1.0
    finding = found_by(POLICED, tested)
    assert finding.dose == pytest.approx(1.0, rel=0.2)  # less where the bucket was full meanwhile
    (cure,) = POLICED.interventions(finding, tested)
    assert isinstance(cure, Intervention) and cure.target is Target.BOTH
    assert set(cure.change.settings.values()) == {"off"}
    assert all(name.endswith("udp_rate") for name in cure.change.settings)


def test_losses_with_a_queue_are_not() -> None:
    grown = sending(bucket(), lambda at_ms: 40.0 if at_ms < 80.0 else 80.0)
    assert POLICED.detect(pair(grown)) is None


@pytest.mark.parametrize("seed", range(20))
def test_losses_at_random_are_not(seed: int) -> None:
    assert POLICED.detect(pair(sending(coin(seed)))) is None


def test_few_losses_and_logs_without_numbers_show_nothing() -> None:
    few = bucket()
    assert POLICED.detect(pair(sending(lambda number, at_ms: few(number, at_ms) and number < 20))) is None
    assert POLICED.detect(pair(side())) is None


def test_what_both_arms_meet_explains_no_gap() -> None:
    assert POLICED.detect(pair(sending(bucket()), sending(bucket()))) is None
