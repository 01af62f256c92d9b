"""The classification of trials whose client moves to its second address, or is to use several paths at once."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core.job import Content, ExpectedAnswer
from longlook.core.model import ConnectionState, Endpoint, Outcome, Trial
from longlook.lab import multipath
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, Observations, Stopped
from tests.data.trials import trial
from tests.unit.lab.test_judge import DIGEST, fetched

MOVING = {"move_at": 1.0}


def over_tcp(knobs: dict[str, Any]) -> Trial:
    return trial(
        protocol="h2",
        connection=ConnectionState.COLD,
        congestion_control="cubic",
        server=Endpoint("some", "1"),
        client=Endpoint("other", "2", knobs),
    )


def outcome(knobs: dict[str, Any], *clients: str) -> Outcome:
    objects = [fetched("/a", 10)]
    line = {"event": "connection", "protocol": "h2", "resumed": False, "congestion_control": "cubic"}
    case = FlowCase(
        trial=over_tcp(knobs),
        content=Content("/www", (("/a",),), {"/a": ExpectedAnswer(10, DIGEST)}),
        stopped=Stopped.CLIENT_ENDED,
        client=Observations(objects, (), 0),
        server=Observations([{"event": "ready"}, *({**line, "remote": client} for client in clients)]),
        measure_s=1.0,
    )
    return judge(case).outcome


@pytest.mark.parametrize(
    ("knobs", "clients", "expected"),
    [
        (MOVING, ("10.8.0.1:7", "10.8.254.1:8"), Outcome.OK),
        (MOVING, ("10.8.0.1:7",), Outcome.OK),  # the load was over before
        (MOVING, ("10.8.0.1:7", "10.8.254.1:8", "10.8.254.1:9"), Outcome.FAILED),
        ({}, ("10.8.0.1:7", "10.8.254.1:8"), Outcome.FAILED),
    ],
)
def test_a_client_that_moves_over_tcp_has_two_connections(
    knobs: dict[str, Any], clients: tuple[str, ...], expected: Outcome
) -> None:
    assert outcome(knobs, *clients) is expected


def test_multipath_tcp_must_be_proven() -> None:
    plain = over_tcp({})
    asked = replace(plain, tcp={"multipath": True})
    assert multipath.judge(plain, {}) is None
    assert multipath.judge(asked, {"multipath_connections": 1.0, "multipath_joins": 0.0}) is None
    unproven = multipath.judge(asked, {"multipath_connections": 0.0})
    assert unproven is not None
    assert unproven.outcome is Outcome.FAILED
    assert multipath.variables(plain) == {}
    assert multipath.variables(asked) == {"LONGLOOK_MULTIPATH_TCP": "1"}


def test_multipath_quic_must_be_proven_by_the_client() -> None:
    asked = replace(over_tcp({}), client=Endpoint("other", "2", {"multipath": "minrtt"}))
    first = {"event": "path", "connection": "10.8.0.1:7", "local": "10.8.0.1:7", "received_bytes": 9000}
    second = {**first, "local": "10.8.254.1:8", "received_bytes": 5000}
    agreed = multipath.quic_counts([Observations((first, second))])
    assert agreed == {"multipath_connections": 1.0, "multipath_joins": 1.0}
    assert multipath.quic_counts([Observations((first, {**second, "received_bytes": 0}))])["multipath_joins"] == 0.0
    assert multipath.judge(asked, agreed) is None
    refused = multipath.judge(asked, multipath.quic_counts([Observations()]))
    assert refused is not None
    assert (refused.outcome, "Multipath QUIC" in str(refused.reason)) == (Outcome.FAILED, True)
    assert multipath.judge(over_tcp({}), {}) is None
