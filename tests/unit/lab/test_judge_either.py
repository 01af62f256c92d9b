"""The classification of trials whose client chooses between QUIC and TCP."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.job import Content, ExpectedAnswer
from longlook.core.model import ConnectionState, Endpoint, Outcome
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, Observations, Stopped
from tests.data.trials import trial
from tests.unit.lab.test_judge import DIGEST, fetched

PATHS = ("/a", "/b")
PORTS = {"h3": 7, "h2": 8}


def carried(*protocols: str, **keys: Any) -> list[dict[str, Any]]:
    """Objects that came over these protocols, each over the connection that speaks it."""
    return [
        fetched(path, 10, **{"protocol": protocol, "local": f"10.8.0.1:{PORTS.get(protocol, 9)}", **keys})
        for path, protocol in zip(PATHS, protocols, strict=True)
    ]


def opened(*protocols: str) -> list[dict[str, Any]]:
    """What the server says of these connections."""
    state = {"resumed": False, "used_0rtt": False}
    control = {"h2": {"congestion_control": "cubic"}}
    return [
        {"event": "connection", "protocol": name, "remote": f"10.8.0.1:{PORTS[name]}", **state, **control.get(name, {})}
        for name in protocols
    ]


def found(
    objects: list[dict[str, Any]], connections: list[dict[str, Any]], *, session: bool = False, **changes: Any
) -> tuple[Outcome, str]:
    case = FlowCase(
        trial=trial(
            protocol="h3-or-h2",
            connection=ConnectionState.COLD,
            congestion_control="cubic",
            server=Endpoint("some", "1"),
            client=Endpoint("other", "2"),
        ),
        content=Content("/www", (PATHS,), dict.fromkeys(PATHS, ExpectedAnswer(10, DIGEST))),
        stopped=Stopped.CLIENT_ENDED,
        client=Observations([*objects, {"event": "done", "ok": True}] if session else objects, (), 0),
        session=session,
        server=Observations([{"event": "ready"}, *connections]),
        measure_s=1.0,
    )
    judgement = judge(replace(case, **changes))
    return judgement.outcome, judgement.reason or ""


@pytest.mark.parametrize(
    ("objects", "connections"),
    [
        (carried("h3", "h3"), opened("h3")),
        (carried("h2", "h2"), opened("h2")),
        (carried("h3", "h2"), opened("h3", "h2")),
        (carried("h2", "h2"), opened("h3", "h2")),
        (carried("h3", "h3"), opened("h3", "h2")),
    ],
)
def test_either_may_carry_a_load_or_both_a_part_of_it(
    objects: list[dict[str, Any]], connections: list[dict[str, Any]]
) -> None:
    assert found(objects, connections) == (Outcome.OK, "")


def test_nothing_else_may() -> None:
    outcome, reason = found(carried("h3", "http/1.1"), opened("h3"))
    assert (outcome, reason) == (Outcome.FAILED, "/b used http/1.1, not h3 or h2")


def test_a_connection_that_nobody_reported_proves_nothing(snapshot: SnapshotAssertion) -> None:
    outcome, reason = found(carried("h3", "h2"), opened("h3"))
    assert outcome is Outcome.INVALID
    assert reason == snapshot
    assert found(carried("h3", "h3"), [])[0] is Outcome.INVALID


def test_an_object_is_reported_once_and_over_a_known_connection() -> None:
    twice = [*carried("h3", "h3"), carried("h2", "h2")[1]]
    outcome, reason = found(twice, opened("h3", "h2"))
    assert (outcome, reason) == (Outcome.FAILED, "/b: the client reported it 2 times, not once")
    assert found(carried("h3", "h3", local=None), opened("h3"))[0] is Outcome.INVALID


def test_more_connections_than_one_of_each_protocol_are_too_many() -> None:
    third = {**opened("h2")[0], "remote": "10.8.0.1:9"}
    outcome, reason = found(carried("h3", "h2"), [*opened("h3", "h2"), third])
    assert outcome is Outcome.FAILED and "used 3 connections" in reason


def test_connections_from_before_a_browsers_page_are_not_those_of_the_load() -> None:
    page = {"event": "page", "t_start_ns": 100, "t_loaded_ns": 200}
    before = [{**line, "remote": f"10.8.0.1:{port}", "t_handshake_ns": 99} for port in (5, 6) for line in opened("h2")]
    during = [{**line, "t_handshake_ns": 101} for line in opened("h3", "h2")]
    assert found([*carried("h3", "h3"), page], [*before, *during], session=True) == (Outcome.OK, "")
    again = [{**line, "remote": f"10.8.0.1:{port}", "t_handshake_ns": 102} for port in (5, 6) for line in opened("h2")]
    assert found([*carried("h3", "h3"), page], [*before, *during, *again], session=True) == (Outcome.OK, "")
    six_more = [{**again[0], "remote": f"10.8.0.1:{port}"} for port in range(10, 16)]
    assert found([*carried("h3", "h3"), page], [*before, *during, *again, *six_more], session=True) == (Outcome.OK, "")
    last = {**again[0], "remote": "10.8.0.1:4"}
    outcome, reason = found([*carried("h3", "h3"), page], [*before, *during, *again, *six_more, last], session=True)
    assert outcome is Outcome.FAILED and "used 11 connections" in reason
    outcome, reason = found(carried("h3", "h3"), [*before, *during])
    assert outcome is Outcome.FAILED and "used 4 connections" in reason


def test_a_load_over_tcp_needs_the_proof_of_its_congestion_control() -> None:
    silent = [{**line, "congestion_control": None} for line in opened("h2")]
    assert found(carried("h2", "h2"), silent)[0] is Outcome.INVALID
    other = [{**line, "congestion_control": "bbr"} for line in opened("h2")]
    assert found(carried("h2", "h2"), other) == (Outcome.FAILED, "congestion control was bbr, declared cubic")


def test_connections_are_cold() -> None:
    resumed = [{**line, "resumed": True} for line in opened("h3")]
    assert found(carried("h3", "h3"), resumed)[0] is Outcome.INVALID


def test_a_server_that_reports_no_state_of_itself_proves_it_where_it_gives_no_tickets() -> None:
    browser = [{"event": "connection", "protocol": "h3", "local": "10.8.0.1:7", "primes": False, "resumed": None}]
    seen = Observations([*carried("h3", "h3"), *browser, {"event": "done", "ok": True}])
    outcome, reason = found([], [], client=seen, session=True, server_reports_state=False)
    assert (outcome, reason.partition(",")[0]) == (
        Outcome.INVALID,
        "the client does not report whether the connection was resumed",
    )
    told = Observations([{"event": "ready"}, *opened("h3")])
    assert found([], [], client=seen, session=True, server=told, server_reports_state=False) == (Outcome.OK, "")
