"""The classification alone: each observation against an otherwise sound trial."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.job import Content, ExpectedAnswer
from longlook.core.model import ConnectionState, Endpoint, Outcome
from longlook.lab.judge import judge, judge_all
from longlook.lab.observations import FlowCase, FlowKind, LeftFile, LoadSeen, Observations, OpenedFlow, Stopped
from tests.data.trials import MS, T0, trial

DIGEST = "sha256:" + "0" * 64
CONTENT = Content("/www", (("/a",), ("/b",)), {"/a": ExpectedAnswer(10, DIGEST), "/b": ExpectedAnswer(20, DIGEST)})
TRIAL = trial(
    protocol="h2",
    congestion_control="cubic",
    server=Endpoint("some", "1"),
    client=Endpoint("other", "2"),
    timeout_s=5.0,
)


def fetched(path: str, size: int, **keys: Any) -> dict[str, Any]:
    answer = {"protocol": "h2", "status": 200, "bytes": size, "digest": DIGEST, "error": None}
    times = {"t_start_ns": T0, "t_first_byte_ns": T0 + 2 * MS, "t_end_ns": T0 + 3 * MS}
    return {"event": "object", "path": path, **answer, **times, **keys}


def opened(port: int, *, primes: bool = False) -> dict[str, Any]:
    times = {"t_start_ns": T0, "t_handshake_ns": T0 + MS}
    return {"event": "connection", "protocol": "h2", "local": f"10.8.0.1:{port}", "primes": primes, **times}


def accepted(port: int, *, resumed: bool = False, early: bool = False, **keys: Any) -> dict[str, Any]:
    state = {"resumed": resumed, "used_0rtt": early, "congestion_control": "cubic"}
    return {"event": "connection", "protocol": "h2", "remote": f"10.8.0.1:{port}", **state, **keys}


DONE = {"event": "done", "ok": True}
OBJECTS = (fetched("/a", 10), fetched("/b", 20))
READY = {"event": "ready"}
SOUND = FlowCase(
    trial=TRIAL,
    content=CONTENT,
    stopped=Stopped.CLIENT_ENDED,
    client=Observations((opened(1), *OBJECTS), (), 0),
    server=Observations((READY, accepted(1))),
    measure_s=1.0,
)


def client(*lines: dict[str, Any], exit_code: int | None = 0, junk: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"client": Observations(lines, junk, exit_code)}


def link(**directions: dict[str, int]) -> dict[str, Any]:
    return {"link": Observations(({"event": "summary", **directions},))}


def server(*lines: dict[str, Any], exit_code: int | None = None) -> dict[str, Any]:
    return {"server": Observations((READY, *lines), (), exit_code)}


def declared(connection: ConnectionState = ConnectionState.COLD, **changes: Any) -> dict[str, Any]:
    return {"trial": replace(TRIAL, connection=connection, **changes)}


RESUMED, EARLY = ConnectionState.RESUMED, ConnectionState.ZERO_RTT
QUIC = {"congestion_control": None}
ABORTED = Observations((), (), -6, "entropy: the CPU's jitter failed its health test")
"""A client that aborts at its start and prints the reason to standard error alone."""

JUDGEMENTS: dict[str, tuple[dict[str, Any], Outcome, str]] = {
    "sound": ({}, Outcome.OK, ""),
    "a client that does not know the digest": (
        client(opened(1), fetched("/a", 10, digest=None), OBJECTS[1]),
        Outcome.OK,
        "",
    ),
    "server exit 127": (
        server({"event": "error", "reason": "no h9"}, exit_code=127) | {"stopped": Stopped.SERVER_ENDED},
        Outcome.UNSUPPORTED,
        "server some 1 does not support this: no h9",
    ),
    "session client reports unsupported": (
        client({"event": "error", "supported": False, "reason": "no 0-RTT"}, exit_code=None) | {"session": True},
        Outcome.UNSUPPORTED,
        "client other 2 does not support this: no 0-RTT",
    ),
    "link ended": ({"stopped": Stopped.LINK_ENDED}, Outcome.INVALID, "link emulator stopped"),
    "server late": ({"stopped": Stopped.SERVER_STARTED_LATE}, Outcome.TIMED_OUT, "server hung"),
    "session client late": ({"stopped": Stopped.CLIENT_STARTED_LATE}, Outcome.TIMED_OUT, "client hung"),
    "server killed": (
        server(exit_code=-11) | {"stopped": Stopped.SERVER_ENDED},
        Outcome.FAILED,
        "before the client was done (signal 11, SIGSEGV)",
    ),
    "server never ready and gone": (
        {
            "server": Observations(({"event": "error", "reason": "port in use"},), (), 1),
            "stopped": Stopped.SERVER_ENDED,
        },
        Outcome.FAILED,
        "at its start (exit code 1): port in use",
    ),
    "client hung": ({"stopped": Stopped.CLIENT_HUNG}, Outcome.TIMED_OUT, "client hung"),
    "transfer hung": (
        client(opened(1), OBJECTS[0], fetched("/b", 0, error="timeout"), exit_code=1) | {"measure_s": 5.1},
        Outcome.TIMED_OUT,
        "1 of 2 objects",
    ),
    "the link shut the way": (
        client(opened(1), fetched("/a", 0, error="reset"), exit_code=1)
        | link(up={"delivered": 0, "dropped_block": 3, "dropped_loss": 0}, down={"delivered": 0, "dropped_block": 0}),
        Outcome.FAILED,
        "/a: reset; the link dropped every packet of the client (block)",
    ),
    "the link has rules": (
        client(opened(1), exit_code=1)
        | {"measure_s": 5.1}
        | link(up={"delivered": 9, "dropped_loss": 3}, down={"delivered": 2, "dropped_nat": 4, "dropped_queue": 1}),
        Outcome.TIMED_OUT,
        "after 5 s; the link dropped packets of the server by rule (nat)",
    ),
    "client failed": (
        client(opened(1), fetched("/a", 0, error="reset"), fetched("/b", 0, error="reset"), exit_code=1),
        Outcome.FAILED,
        "exit code 1): /a: reset (and 1 more)",
    ),
    "session client failed": (
        client(*OBJECTS, {"event": "done", "ok": False}, exit_code=None) | {"session": True},
        Outcome.FAILED,
        "by its own report",
    ),
    "junk": (client(opened(1), *OBJECTS, junk=("hello",)), Outcome.FAILED, "'hello'"),
    "missing object": (client(opened(1), OBJECTS[0]), Outcome.FAILED, "/b: the client never reported it"),
    "short": (client(opened(1), OBJECTS[0], fetched("/b", 19)), Outcome.FAILED, "19 bytes, expected 20"),
    "digest": (client(opened(1), OBJECTS[0], fetched("/b", 20, digest="x")), Outcome.FAILED, "wrong body"),
    "status": (client(opened(1), OBJECTS[0], fetched("/b", 20, status=404)), Outcome.FAILED, "HTTP status 404"),
    "page never loaded": (
        client(opened(1), *OBJECTS, {"event": "page", "url": "u", "t_start_ns": T0, "t_loaded_ns": None}, DONE)
        | {"session": True},
        Outcome.FAILED,
        "never finished loading",
    ),
    "protocol of an object": (
        client(opened(1), OBJECTS[0], fetched("/b", 20, protocol="h3")),
        Outcome.FAILED,
        "/b used h3, not h2",
    ),
    "protocol of a connection": (server(accepted(1, protocol="h3")), Outcome.FAILED, "used h3, not h2"),
    "two connections": (server(accepted(1), accepted(2)), Outcome.FAILED, "2 connections"),
    "no connection": (server(), Outcome.INVALID, "not proven"),
    "cold was resumed": (server(accepted(1, resumed=True)), Outcome.INVALID, "was resumed, declared cold"),
    "cold used early data": (server(accepted(1, early=True)), Outcome.INVALID, "was 0rtt, declared cold"),
    "resumed was cold": (declared(RESUMED) | server(accepted(1)), Outcome.FAILED, "was cold, declared resumed"),
    "resumed after priming": (
        declared(RESUMED)
        | client(opened(1, primes=True), opened(2), *OBJECTS)
        | server(accepted(1), accepted(2, resumed=True)),
        Outcome.OK,
        "",
    ),
    "early data after priming by a client that names no connection": (
        declared(EARLY) | client(*OBJECTS) | server(accepted(1), accepted(2, resumed=True, early=True)),
        Outcome.OK,
        "",
    ),
    "early data refused": (
        declared(EARLY)
        | client(opened(1, primes=True), opened(2), *OBJECTS)
        | server(accepted(1), accepted(2, resumed=True)),
        Outcome.FAILED,
        "was resumed, declared 0rtt",
    ),
    "other congestion control": (server(accepted(1, congestion_control="bbr")), Outcome.FAILED, "was bbr"),
    "congestion controls differ": ({"seen_congestion_controls": frozenset({"bbr"})}, Outcome.FAILED, "bbr, cubic"),
    "congestion control unproven": (server(accepted(1, congestion_control=None)), Outcome.INVALID, "nothing proves"),
    "congestion control seen by the kernel": (
        server(accepted(1, congestion_control=None)) | {"seen_congestion_controls": frozenset({"cubic"})},
        Outcome.OK,
        "",
    ),
    "QUIC has none": (declared(**QUIC) | server(accepted(1, congestion_control=None)), Outcome.OK, ""),
}


def test_a_program_that_aborts_is_quoted_and_live_advised_in_virtual_time() -> None:
    for virtual in (False, True):
        judgement = judge(replace(SOUND, client=ABORTED, virtual=virtual))
        assert judgement.outcome is Outcome.FAILED
        assert judgement.reason == f"the client failed (signal 6, SIGABRT); its stderr: {ABORTED.stderr}"
        assert ("--engine live" in str(judgement.hint)) is virtual
    server = replace(SOUND, server=replace(ABORTED, exit_code=1), stopped=Stopped.SERVER_ENDED, virtual=True)
    assert judge(server).reason == f"the server ended at its start (exit code 1); its stderr: {ABORTED.stderr}"
    assert "--engine live" in str(judge(server).hint)


def test_virtual_time_is_not_suspected_where_a_program_reports_its_failure() -> None:
    reset = replace(SOUND, **client(opened(1), fetched("/a", 0, error="reset"), exit_code=1), virtual=True)
    assert judge(reset).hint == "see client.stderr"


def carried(path: str, size: int, *ports: int) -> tuple[dict[str, Any], ...]:
    return tuple(fetched(path, size, local=f"10.8.0.1:{port}") for port in ports)


TWO: dict[str, Any] = {
    "content": replace(CONTENT, connections=2),
    **client(opened(1), opened(2), *carried("/a", 10, 1, 2), *carried("/b", 20, 2, 1)),
    **server(accepted(2), accepted(1)),
}
"""Two connections that fetched everything each."""

SEVERAL: dict[str, tuple[dict[str, Any], Outcome, str]] = {
    "sound": ({}, Outcome.OK, ""),
    "only one was opened": (server(accepted(1)), Outcome.FAILED, "used 1 connections, not 2"),
    "three were opened": (server(accepted(1), accepted(2), accepted(3)), Outcome.FAILED, "3 connections, not 2"),
    "the second was resumed": (server(accepted(1), accepted(2, resumed=True)), Outcome.INVALID, "was resumed"),
    "the second's congestion control": (
        server(accepted(1), accepted(2, congestion_control="bbr")),
        Outcome.FAILED,
        "bbr, cubic",
    ),
    "the second's body is wrong": (
        client(*carried("/a", 10, 1, 2), *carried("/b", 20, 1), fetched("/b", 20, digest="x", local="10.8.0.1:2")),
        Outcome.FAILED,
        "/b: wrong body",
    ),
    "the second is missing": (
        client(*carried("/a", 10, 1, 2), *carried("/b", 20, 1)),
        Outcome.FAILED,
        "/b: the client reported it 1 times, not once for each of 2 connections",
    ),
    "one connection carried both": (
        client(opened(1), opened(2), *carried("/a", 10, 1, 2), *carried("/b", 20, 1, 1)),
        Outcome.FAILED,
        "/b came over client ports 1, 1, but the connections have 1, 2",
    ),
    "it does not report which carried what": (
        client(opened(1), opened(2), *OBJECTS, *OBJECTS),
        Outcome.INVALID,
        "`local`",
    ),
    "both resumed after one priming": (
        declared(RESUMED)
        | client(opened(3, primes=True), opened(1), opened(2), *carried("/a", 10, 1, 2), *carried("/b", 20, 1, 2))
        | server(accepted(3), accepted(1, resumed=True), accepted(2, resumed=True)),
        Outcome.OK,
        "",
    ),
    "the transfer hung": (
        client(*carried("/a", 10, 1, 2), fetched("/b", 0, error="timeout"), exit_code=1) | {"measure_s": 5.1},
        Outcome.TIMED_OUT,
        "2 of 4 objects",
    ),
}


@pytest.mark.parametrize("name", list(SEVERAL))
def test_judgement_of_several_connections(name: str) -> None:
    changes, outcome, text = SEVERAL[name]
    judgement = judge(replace(SOUND, **(TWO | changes)))
    assert judgement.outcome is outcome
    assert text in f"{judgement.reason} {judgement.hint}"


@pytest.mark.parametrize(
    ("ports", "outcome", "reason"),
    [((1, 2), Outcome.OK, ""), ((1,), Outcome.FAILED, "used 1 connections, not 2")],
)
def test_a_protocol_with_a_connection_for_each_file(ports: tuple[int, ...], outcome: Outcome, reason: str) -> None:
    protocol = "http/1.0"
    lines = [line | {"protocol": protocol} for line in (*OBJECTS, *map(opened, ports))]
    connections = [accepted(port, protocol=protocol) for port in ports]
    judgement = judge(replace(SOUND, **declared(protocol=protocol), **client(*lines), **server(*connections)))
    assert judgement.outcome is outcome
    assert reason in (judgement.reason or "")


@pytest.mark.parametrize("name", list(JUDGEMENTS))
def test_judgement(name: str) -> None:
    changes, outcome, reason = JUDGEMENTS[name]
    judgement = judge(replace(SOUND, **changes))
    assert judgement.outcome is outcome
    assert reason in (judgement.reason or "")
    assert (judgement.hint is None) is (outcome is Outcome.OK)


def test_only_what_ran_to_its_end_is_left_to_the_guard() -> None:
    """Else a program that hangs would be excused by the datagrams that it no longer reads."""
    done = {"protocol of an object", "two connections", "resumed was cold", "early data refused"}
    done |= {"other congestion control", "congestion controls differ", "protocol of a connection"}
    found = {name for name, (changes, *_) in JUDGEMENTS.items() if judge(replace(SOUND, **changes)).complete}
    assert found == done


STOPPED = replace(SOUND, flow="quic", kind=FlowKind.BULK, client=Observations((opened(1),)))
"""A flow that was still at it when all were stopped, as planned."""


def test_a_flow_that_was_stopped_as_planned_is_sound() -> None:
    assert judge(STOPPED).outcome is Outcome.OK


def test_a_flow_that_ends_before_all_stop_is_reported(snapshot: SnapshotAssertion) -> None:
    early = replace(STOPPED, client=SOUND.client, measure_s=3.25)
    found = judge_all([STOPPED, replace(early, flow="tcp-2")])
    assert found.outcome is Outcome.FAILED
    assert found.reason == snapshot


def test_a_flow_that_never_had_a_connection_is_reported() -> None:
    found = judge(replace(STOPPED, client=Observations(), server=Observations((READY,))))
    assert found.outcome is Outcome.FAILED and "no connection yet" in str(found.reason)


def test_the_flow_at_fault_is_named_and_not_the_first() -> None:
    ended = replace(STOPPED, stopped=Stopped.SERVER_ENDED)
    lost = replace(ended, flow="tcp-2", server=Observations((READY, accepted(1)), (), 1))
    found = judge_all([ended, lost])
    assert found.outcome is Outcome.FAILED
    assert str(found.reason).startswith("flow tcp-2: the server ended before the client was done")


def test_a_server_that_fails_before_any_flow_has_started_is_reported() -> None:
    waiting = replace(STOPPED, started=False, client=Observations(), server=Observations((READY,)))
    refused = {"event": "error", "reason": "knob x", "supported": False}
    for stopped, server, outcome in (
        (Stopped.SERVER_ENDED, Observations((refused,), (), 127), Outcome.UNSUPPORTED),
        (Stopped.SERVER_ENDED, Observations((), (), 1), Outcome.FAILED),
        (Stopped.SERVER_STARTED_LATE, Observations(), Outcome.TIMED_OUT),
    ):
        found = judge_all(
            [replace(waiting, stopped=stopped), replace(waiting, stopped=stopped, flow="b", server=server)]
        )
        assert found.outcome is outcome
        assert str(found.reason).startswith("flow b: ")


def test_the_clients_report_counts_where_the_server_reports_at_the_end(snapshot: SnapshotAssertion) -> None:
    line = {**opened(1), "resumed": False, "used_0rtt": False, "congestion_control": "cubic"}
    silent = replace(STOPPED, client=Observations((line,)), server=Observations((READY,)))
    assert judge(silent).outcome is Outcome.OK
    resumed = replace(silent, client=Observations(({**line, "resumed": True},)))
    assert str(judge(resumed).reason) == snapshot


def test_cross_traffic_may_be_anywhere_but_must_not_fail() -> None:
    cross = replace(STOPPED, flow="web-3", kind=FlowKind.CROSS)
    for case in (cross, replace(cross, started=False), replace(cross, client=SOUND.client)):
        assert judge_all([STOPPED, case]).outcome is Outcome.OK
    failed = replace(cross, client=Observations((opened(1),), (), 1))
    assert str(judge_all([STOPPED, failed]).reason).startswith("flow web-3: the client failed")


def test_each_flow_proves_its_own_congestion_control(snapshot: SnapshotAssertion) -> None:
    wrong = replace(STOPPED, flow="tcp-2", server=Observations((READY, accepted(1, congestion_control="bbr"))))
    found = judge_all([STOPPED, wrong])
    assert found.outcome is Outcome.FAILED
    assert found.reason == snapshot


def test_a_client_whose_own_machine_is_at_fault_makes_the_trial_invalid_even_where_its_time_was_over() -> None:
    line = {"event": "error", "reason": "the browser has gone away", "disturbed": True}
    case = replace(SOUND, remote=True, measure_s=60.0)
    found = judge(replace(case, **client(line, exit_code=1)))
    assert (found.outcome, found.reason) == (Outcome.INVALID, "the client's machine: the browser has gone away")
    assert judge(replace(case, **client({**line, "disturbed": False}, exit_code=1))).outcome is Outcome.TIMED_OUT
    assert judge(replace(case, remote=False, **client(line, exit_code=1))).outcome is Outcome.TIMED_OUT


def test_a_client_elsewhere_whose_packets_never_came_was_not_measured(snapshot: SnapshotAssertion) -> None:
    failed = {"event": "done", "ok": False}
    case = replace(SOUND, remote=True, session=True, **client(fetched("/a", 0, error="no answer"), failed))
    silent = judge(replace(case, **link(up={"arrived": 0, "delivered": 0})))
    assert silent.outcome is Outcome.INVALID
    assert silent.reason is not None
    assert silent.reason == snapshot
    assert judge(replace(case, **link(up={"arrived": 3, "delivered": 3}))).outcome is Outcome.FAILED


LEFT = {"/a": LeftFile(10, DIGEST), "/b": LeftFile(20, DIGEST)}


def left(exit_code: int | None = 0, output: str = "", junk: tuple[str, ...] = (), **files: LeftFile) -> dict[str, Any]:
    found = {**LEFT, **{f"/{name}": file for name, file in files.items()}}
    return {
        "client": Observations((), junk, exit_code, output=output, files=found),
        "load": LoadSeen(found, T0, T0 + MS),
    }


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        (left(), Outcome.OK, None),
        (left(junk=("a line for people",)), Outcome.OK, None),
        (left(b=LeftFile(problem="the client left no such file")), Outcome.FAILED, "/b: the client left no such file"),
        (left(b=LeftFile(21)), Outcome.FAILED, "/b: wrong body: 21 bytes, expected 20"),
        (left(b=LeftFile(20, "sha256:1")), Outcome.FAILED, f"/b: wrong body: sha256:1, expected {DIGEST}"),
        (left(127, "sh: x: not found"), Outcome.UNSUPPORTED, "client other 2 does not support this: sh: x: not found"),
        (left(3, "no route"), Outcome.FAILED, "the client failed (exit code 3); its output: no route"),
    ],
)
def test_a_client_without_lines_is_judged_by_its_files(
    changes: dict[str, Any], outcome: Outcome, reason: str | None
) -> None:
    found = judge(replace(SOUND, **changes))
    assert (found.outcome, found.reason) == (outcome, reason)


def seen_by_the_link(*early: bool) -> dict[str, Any]:
    flows = tuple(OpenedFlow(7 + at, T0, primes=False, early=sent) for at, sent in enumerate(early))
    return left() | {"load": LoadSeen(LEFT, T0, T0 + MS, flows), "server": Observations()}


@pytest.mark.parametrize(
    ("state", "changes", "outcome", "reason"),
    [
        ("cold", seen_by_the_link(False), Outcome.OK, None),
        (
            "cold",
            seen_by_the_link(),
            Outcome.INVALID,
            "the server reported no measured connection, so its state is not proven",
        ),
        ("cold", seen_by_the_link(False, False), Outcome.INVALID, "the link saw the client open 2 connections, not 1"),
        ("cold", seen_by_the_link(True), Outcome.INVALID, "the client sent packets of early data, declared cold"),
        ("resumed", seen_by_the_link(False), Outcome.INVALID, "neither end reports its connections, so nothing proves"),
    ],
)
def test_a_connection_that_no_end_reports_is_proven_by_the_link(
    state: str, changes: dict[str, Any], outcome: Outcome, reason: str | None
) -> None:
    quic = replace(SOUND.trial, protocol="h3", congestion_control=None, connection=ConnectionState(state))
    found = judge(replace(SOUND, trial=quic, **changes))
    assert (found.outcome, (found.reason or "").startswith(reason or "")) == (outcome, True), found.reason


def test_a_transfer_that_hung_says_how_many_files_had_arrived() -> None:
    found = judge(replace(SOUND, **left(1, b=LeftFile(3)), measure_s=6.0))
    assert (found.outcome, "1 of 2 objects had arrived" in (found.reason or "")) == (Outcome.TIMED_OUT, True)


def test_a_client_that_sends_another_priority_than_asked_for_has_failed() -> None:
    asked = replace(SOUND, content=replace(CONTENT, priorities={"/b": "u=1"}))
    sent = (opened(1), fetched("/a", 10), fetched("/b", 20, priority="u=1"))
    assert judge(replace(asked, **client(*sent))).outcome is Outcome.OK
    assert judge(asked).reason == "/b: the client asked with priority 'None', not 'u=1'"
    assert judge(replace(SOUND, **client(*sent))).outcome is Outcome.FAILED
