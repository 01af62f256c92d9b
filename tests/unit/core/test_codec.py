"""Model objects survive JSON; what does not fit is named."""

import pytest

from longlook.core import codec
from longlook.core.model import Capture, ConnectionState, Endpoint, Link, Plan, Stage, Trial, Workload
from tests.data.trials import trial

TRIAL = trial(
    cell={"size": "5KB"},
    link=Link(up=(Stage("loss", {"probability": 0.5}),), down=(Stage("delay", {"delay_ns": 18_000_000}),)),
    workload=Workload("page", {"objects": 1, "object_bytes": 5000}),
    connection=ConnectionState.ZERO_RTT,
    server=Endpoint("quic-go", "1", {"gso": True, "window": 1, "share": 0.5, "name": "x"}),
    capture=Capture(qlog=True),
)


def test_round_trip_keeps_every_type() -> None:
    decoded = codec.decode(Trial, codec.encode(TRIAL))
    assert decoded == TRIAL
    assert type(decoded.server.knobs["gso"]) is bool
    assert type(decoded.server.knobs["window"]) is int


def test_nested_tuples_round_trip() -> None:
    plan = Plan("demo", "hash", (TRIAL, TRIAL))
    assert codec.decode(Plan, codec.encode(plan)) == plan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"round": "one"}, "Trial.round: 'one' is not int"),
        ({"round": True}, "Trial.round: True is not int"),
        ({"nonsense": 1}, "Trial: unknown key 'nonsense'"),
        ({"connection": "warm"}, "warm"),
        ({"timeout_s": 10**400}, "too large"),
        ({"link": {"up": []}}, "down"),
    ],
)
def test_misfits_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        codec.decode(Trial, {**codec.encode(TRIAL), **change})
    assert message in str(caught.value)


def test_hash_ignores_order_of_keys_and_sees_values() -> None:
    assert codec.content_hash({"a": 1, "b": 2}) == codec.content_hash({"b": 2, "a": 1})
    assert codec.content_hash({"a": 1}) != codec.content_hash({"a": 2})
    with pytest.raises(ValueError, match=r"NaN|Out of range"):
        codec.canonical({"a": float("nan")})
