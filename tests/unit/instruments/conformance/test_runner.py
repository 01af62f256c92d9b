"""The suite around the proofs: which checks a version gets, what a basic check makes of its trial, saved and shown."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core import codec, registry
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.core.model import ConnectionState, Endpoint, Outcome
from longlook.core.stack import Stack, Version
from longlook.instruments.conformance import documents, saved, tables
from longlook.instruments.conformance.basics import basics
from longlook.instruments.conformance.checks import Check, CheckResult, CheckStatus, Report
from longlook.instruments.conformance.matrix import Matrix, MatrixCell, key_of, round_trips
from longlook.instruments.conformance.page import write_page
from longlook.instruments.conformance.proofs import PROOFS
from longlook.instruments.conformance.qlogs import count, events_of, parameters
from longlook.instruments.conformance.run import matrices, write_matrices
from longlook.instruments.conformance.runner import checks, judged, knobs
from longlook.instruments.conformance.subject import Subject, subject
from longlook.provision.catalogue import selected, stack_versions
from longlook.study import tcp
from tests.data.conformance import FAILED, ask, knob, seen

SEVERAL = "several connections over h2 (client)"


def made_up(**changes: object) -> Stack:
    """A stack that exists nowhere."""
    stack = Stack(
        name="made-up",
        summary="",
        roles=("server", "client"),
        protocols=("h3", "h2"),
        connections=(ConnectionState.COLD, ConnectionState.RESUMED),
        versions=(Version("1.0", "2024-01-01", protocols=("h3",)), Version("2.0", "2025-01-01")),
        knobs={},
        log_formats=("qlog",),
        install=lambda _version: Program("/nowhere", "0" * 64),
    )
    return replace(stack, **changes)  # type: ignore[arg-type]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The made-up stack beside the real ones."""
    stack = made_up(
        knobs={
            "initial_window": knob(minimum=1, protocols=("h3",)),
            "pacing": knob(bool, since="2.0", protocols=("h3",)),
            "magic": knob(),
            "ecn": knob(bool, roles=("server",)),
        }
    )
    real = registry.load("stacks")
    monkeypatch.setattr(registry, "load", lambda folder: {**real, stack.name: stack} if folder == "stacks" else {})
    return stack


def named(suite: list[Check]) -> Mapping[str, Check]:
    found = {check.name: check for check in suite}
    assert len(found) == len(suite)
    return found


def test_each_check_has_a_name_of_its_own_and_trials_that_can_be_run() -> None:
    for name in ("quic-go", "ngtcp2", "aioquic", "chromium"):
        for check in named(checks(subject(name))).values():
            for want in check.wants.values():
                assert codec.encode(want.trial())


def test_of_bare_datagrams_no_objects_are_asked() -> None:
    suite = named(checks(subject("traffic")))
    for name in ("page over udp (server)", "download over udp (client)", "one line per object over udp (client)"):
        assert suite[name].judge({}).status is CheckStatus.NOT_APPLICABLE
    trial = suite["connection cold over udp (server)"].wants["trial"].trial()
    assert [(flow.protocol, flow.cross) for flow in trial.flows] == [("udp", True)]
    assert trial.congestion_control is None
    cold = suite["connection cold over udp (client)"]
    line = {"event": "connection", "resumed": False}
    assert cold.judge({"trial": seen(client=[line], server=[line])}).status is CheckStatus.PASSED
    assert cold.judge({"trial": seen(server=[line])}).status is CheckStatus.FAILED
    with pytest.raises(InputError, match="udp fetches none"):
        matrices((), ("udp",), "virtual", Path("nowhere"), print)


def test_an_echo_is_asked_for_answers_and_not_for_objects() -> None:
    suite = named(checks(subject("echo")))
    for protocol in ("udp-echo", "quic-echo"):
        assert suite[f"page over {protocol} (server)"].judge({}).status is CheckStatus.NOT_APPLICABLE
        trial = suite[f"connection cold over {protocol} (client)"].wants["trial"].trial()
        assert (trial.workload.kind, trial.flows, trial.congestion_control) == ("echo", (), None)
        with pytest.raises(InputError, match=f"{protocol} fetches none"):
            matrices((), (protocol,), "virtual", Path("nowhere"), print)


def test_a_version_is_checked_for_what_it_declares(registered: Stack) -> None:
    old, new = named(checks(subject("made-up@1.0"))), named(checks(subject("made-up@2.0")))
    assert "page over h3 (server)" in old
    assert "page over h2 (server)" not in old
    assert "page over h2 (client)" in new
    assert "knob pacing (server, h3)" in new
    assert not any("pacing" in name for name in old)
    assert old["connection 0rtt over h3 (client)"].wants["trial"].connection is ConnectionState.ZERO_RTT
    assert not old["connection 0rtt over h3 (server)"].wants


def test_a_stack_that_is_named_for_a_matrix_is_never_passed_over(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    def fail(_version: str) -> Program:
        raise MachineError("no compiler", "install one")

    real = registry.load("stacks")
    absent = made_up(install=fail)
    monkeypatch.setattr(registry, "load", lambda folder: {**real, "made-up": absent} if folder == "stacks" else {})
    reported: list[str] = []
    with pytest.raises(InputError, match="none of these versions is an installed server"):
        matrices(("made-up",), ("h3",), "virtual", Path("nowhere"), reported.append)
    assert reported[-1] == snapshot


def test_knobs_that_nobody_proves_fail(registered: Stack) -> None:
    found = named(list(knobs(subject("made-up@2.0"))))
    assert "magic" not in PROOFS
    for name in ("knob magic (server, h3)", "knob magic (client, h2)", "knob ecn (server, h2)"):
        assert found[name].judge({}).status is CheckStatus.FAILED
    assert found["knob ecn (server, h3)"].wants
    assert "knob initial_window (server, h2)" not in found


def test_who_plays_the_other_end() -> None:
    assert subject("ngtcp2").peer.stack == "ngtcp2"
    assert subject("chromium").peer == Endpoint("quic-go", "0.65.0")
    assert subject("ngtcp2").witness == Endpoint("quic-go", "0.65.0")
    assert subject("quic-go@0.20.1").witness == Endpoint("quic-go", "0.20.1"), "the newest speaks no drafts"
    assert subject("aioquic", "ngtcp2").server("client") == Endpoint("ngtcp2", "0.12.1")
    with pytest.raises(InputError, match="no version"):
        subject("quic-go@9")


def basic(part: Subject, name: str) -> Check:
    return named(list(basics(part)))[name]


def test_refusals_are_what_is_wanted_of_unknown_wishes() -> None:
    for name in ("unknown knob over h3 (client)", "unspoken protocol (client)"):
        check = basic(subject("ngtcp2"), name)
        refused = seen(outcome=Outcome.UNSUPPORTED, reason="unknown knob")
        assert check.judge({"trial": refused}).status is CheckStatus.PASSED
        assert check.judge({"trial": seen()}).status is CheckStatus.FAILED
        assert check.judge({"trial": seen(**FAILED)}).status is CheckStatus.FAILED


def test_a_trial_that_failed_has_its_reason() -> None:
    for check in basics(subject("aioquic")):
        if check.wants:
            finding = check.judge({"trial": seen(**FAILED)})
            assert finding.status is CheckStatus.FAILED, check.name
            assert "the client failed" in finding.seen or "ready" in check.name or "line" in check.name


def test_ready_line() -> None:
    check = basic(subject("quic-go"), "ready line over h3 (server)")
    line = {"event": "ready", "role": "server", "protocol": "h3", "port": 443, "version": "0.65.0"}
    assert check.judge({"trial": seen(server=[line])}).status is CheckStatus.PASSED
    for wrong in ({"protocol": "h2"}, {"port": None}, {"version": "0.1"}, {"event": "connection"}):
        assert check.judge({"trial": seen(server=[{**line, **wrong}])}).status is CheckStatus.FAILED


def test_an_object_that_is_reported_twice_fails() -> None:
    check = basic(subject("quic-go"), "one line per object over h3 (client)")
    lines = [{"event": "connection"}, *({"event": "object", "path": path} for path in ("/a", "/b"))]
    assert check.judge({"trial": seen(client=lines)}).status is CheckStatus.PASSED
    assert check.judge({"trial": seen(client=[*lines, lines[-1]])}).status is CheckStatus.FAILED


def test_what_could_not_run_is_a_failed_check() -> None:
    check = basic(subject("quic-go"), "page over h3 (server)")
    trial_id = check.wants["trial"].trial().id
    result = judged(check, {trial_id: "the guest did not boot"})
    assert (result.status, result.seen, result.trials) == (CheckStatus.FAILED, "the guest did not boot", (trial_id,))


OLD = {
    "qlog_version": "draft-02-wip",
    "traces": [
        {
            "event_fields": ["relative_time", "category", "event", "data"],
            "events": [[0.1, "transport", "parameters_set", {"owner": "remote", "initial_max_data": 7}]],
        }
    ],
}
NEW = {"name": "quic:parameters_set", "data": {"initiator": "remote", "initial_max_data": 7}}
FRAMES = {"frames": [{"frame_type": "max_data", "maximum": 5}, {"frame_type": "ack"}]}
RECEIVED = {"name": "transport:packet_received", "data": FRAMES}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OLD),
        json.dumps({"qlog_version": "0.3", "traces": [{"events": [{**NEW, "time": 1}]}]}),
        "\n".join(map(json.dumps, [{"qlog_format": "NDJSON", "trace": {}}, NEW, RECEIVED])),
        "".join(f"\x1e{json.dumps(record)}\n" for record in [{"trace": {"vantage_point": {}}}, RECEIVED, NEW]),
        "".join(f"\x1e{json.dumps(record)}\n" for record in [{"trace": {}}, NEW]) + '\x1e{"name": "quic:packet_s',
    ],
    ids=["arrays", "one document", "lines", "sequence", "cut off"],
)
def test_every_kind_of_qlog_is_read(text: str) -> None:
    events = list(events_of(text))
    assert parameters(events, "remote")["initial_max_data"] == 7
    assert parameters(events, "local") == {}
    assert count(events, "parameters_set") == 1
    assert count(events, "packet_received") == ("packet_received" in text)


REPORT = Report(
    stack="quic-go",
    version="0.65.0",
    digest="a" * 64,
    engine="virtual",
    made_unix_s=1_700_000_000,
    results=(
        CheckResult("page over h3 (server)", CheckStatus.PASSED, "121 objects"),
        CheckResult("knob ecn (server, h3)", CheckStatus.FAILED, "a | b", "ecn", "server", ("id",)),
        CheckResult("knob gso (client, h3)", CheckStatus.NOT_APPLICABLE, "nothing", "gso", "client"),
    ),
)


def test_reports_are_saved_by_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    saved.save(REPORT)
    newer = replace(REPORT, digest="b" * 64, made_unix_s=REPORT.made_unix_s + 1)
    saved.save(newer)
    (saved.root() / "quic-go" / "0.65.0" / "broken.json").write_text("{")
    assert saved.saved() == [newer]


def test_tables_show_what_failed(snapshot: SnapshotAssertion) -> None:
    checked = tables.markdown(tables.checks_rows([REPORT]))
    assert checked == snapshot
    assert tables.markdown(tables.knobs_rows([REPORT])).splitlines()[2:] == ["| `ecn` | ✗ |", "| `gso` | · |"]


MATRIX = Matrix(
    protocol="h3",
    engine="virtual",
    made_unix_s=1_700_000_000,
    servers=("a@1", "b@1"),
    clients=("a@1", "c@1"),
    pairs=(
        MatrixCell("a@1", "a@1", shared=True, reason=None, handshake_round_trips=1.06),
        MatrixCell("a@1", "c@1", shared=True, reason="page of 20: failed: <no>"),
        MatrixCell("b@1", "a@1", shared=False, reason=None),
        MatrixCell("b@1", "c@1", shared=True, reason="page of 20: failed: <no>", handshake_round_trips=2.6),
    ),
)


def test_matrix_names_reasons_by_letters(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    table = tables.matrix_table(MATRIX)
    assert table.splitlines()[2:4] == ["| a@1 | ✓ | A |", "| b@1 | – | A |"]
    assert table == snapshot
    assert [key_of(number) for number in (0, 25, 26)] == ["A", "Z", "A1"]
    page = write_page([MATRIX], tmp_path).read_text()
    assert "1 of 3 pairs" in page
    assert "&lt;no&gt;" in page


def test_round_trips_of_handshakes_have_a_table_of_their_own(tmp_path: Path) -> None:
    table = tables.handshake_table(MATRIX)
    assert table.splitlines()[2:4] == ["| a@1 | 1 RTT | · |", "| b@1 | – | 2.6 RTT |"]
    unmeasured = replace(MATRIX, pairs=tuple(replace(pair, handshake_round_trips=None) for pair in MATRIX.pairs))
    assert tables.handshake_table(unmeasured) == ""
    write_matrices([MATRIX, unmeasured], tmp_path)
    assert (tmp_path / "matrix.md").read_text().count("1 RTT") == 1
    assert "handshake: 2.6 RTT" in (tmp_path / "index.html").read_text()


def test_a_handshake_is_counted_from_the_clients_measured_connection() -> None:
    primes = {"event": "connection", "primes": True, "t_start_ns": 0, "t_handshake_ns": 400_000_000}
    measured = {"event": "connection", "primes": False, "t_start_ns": 10_000_000, "t_handshake_ns": 52_000_000}
    with_lines = replace(seen(), lines={"client": [primes, measured]})
    assert round_trips(with_lines) == pytest.approx(1.05)  # 42 ms over 40 ms
    assert round_trips(replace(with_lines, lines={"client": [primes]})) is None


def test_only_marked_blocks_of_a_document_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    documents.save_matrix(MATRIX)
    documents.save_matrix(replace(MATRIX, clients=("a@1",), pairs=MATRIX.pairs[::2]))  # a piece replaces nothing
    page = tmp_path / "stacks.md"
    page.write_text("before\n<!-- matrix h3: generated -->\nold\n<!-- matrix h3: end -->\nafter\n")
    assert documents.update(page) == [documents.Block("matrix h3", ())]
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| a@1 | ✓ | A |" in text
    documents.update(page)
    assert page.read_text() == text
    page.write_text("nothing to make")
    with pytest.raises(InputError, match="no generated blocks"):
        documents.update(page)


def test_the_document_shows_what_can_be_tuned_now() -> None:
    text = (Path(__file__).parents[4] / "docs" / "reference" / "stack-tables.md").read_text()
    block = text.partition("<!-- tunable: generated -->\n")[2].partition("\n<!-- tunable: end -->")[0]
    assert block == tables.markdown(tables.tunable_rows(registry.load("stacks").values())), (
        "run: longlook stacks docs docs/reference/stack-tables.md"
    )


def test_what_tunes_tcp_is_a_setting_of_studies() -> None:
    known = {name for stack in registry.load("stacks").values() for name in stack.knobs}
    assert known >= tcp.OF_KNOB.keys()
    assert set(tcp.OF_KNOB.values()) <= {*tcp.SETTINGS, tcp.CONGESTION_CONTROL}


def test_catalogue_lists_versions_with_what_each_can_do(registered: Stack) -> None:
    entries = stack_versions(["made-up"])
    assert [(entry.version, entry.protocols) for entry in entries] == [("1.0", ("h3",)), ("2.0", ("h3", "h2"))]
    assert [entry.knobs for entry in entries] == [
        ("ecn", "initial_window", "magic"),
        ("ecn", "initial_window", "magic", "pacing"),
    ]
    assert [(stack.name, version) for stack, version in selected(["made-up@2.0", "made-up"])] == [
        ("made-up", "2.0"),
        ("made-up", "1.0"),
    ]
    with pytest.raises(InputError, match="behind @"):
        selected(["made-up@"])


def test_values_stay_within_a_knobs_bounds() -> None:
    narrow = ask("max_udp_payload", knob(minimum=1_200, maximum=1_250), "server")
    assert (narrow.value(1_331), narrow.value(1), narrow.value(1_201)) == (1_250, 1_200, 1_201)
    assert ask("initial_rtt", knob(float), "server").value(0.03) == 0.03


@pytest.mark.parametrize("states", [(ConnectionState.COLD,), (ConnectionState.RESUMED,)])
def test_several_connections_are_checked_in_a_state_that_the_stack_has(
    monkeypatch: pytest.MonkeyPatch, states: tuple[ConnectionState, ...]
) -> None:
    stack = made_up(several_connections=True, connections=states)
    monkeypatch.setattr(registry, "load", lambda _folder: {stack.name: stack})
    end = Endpoint(stack.name, "2.0")
    (check,) = (each for each in basics(Subject(stack, "2.0", end, end)) if each.name == SEVERAL)
    assert [want.connection for want in check.wants.values()] == list(states)


def test_several_connections_need_a_state_of_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = made_up(several_connections=True, connections=(ConnectionState.COLD,))
    peer = made_up(name="peer", connections=(ConnectionState.RESUMED,))
    monkeypatch.setattr(registry, "load", lambda _folder: {each.name: each for each in (stack, peer)})
    end = Endpoint(peer.name, "2.0")
    (check,) = (each for each in basics(Subject(stack, "2.0", end, end)) if each.name == SEVERAL)
    assert not check.wants
    assert check.judge({}).status is CheckStatus.NOT_APPLICABLE


def waits_check(monkeypatch: pytest.MonkeyPatch, **changes: object) -> Check:
    stack = made_up(**changes)
    monkeypatch.setattr(registry, "load", lambda _folder: {stack.name: stack})
    end = Endpoint(stack.name, "2.0")
    (check,) = (each for each in basics(Subject(stack, "2.0", end, end)) if each.name == "waits over h2 (client)")
    return check


@pytest.mark.parametrize(
    ("warm_ms", "idle_ms", "status"),
    [(200, 300, CheckStatus.PASSED), (199, 300, CheckStatus.FAILED), (200, 299, CheckStatus.FAILED)],
)
def test_waits_are_read_from_the_clients_lines(
    monkeypatch: pytest.MonkeyPatch, warm_ms: int, idle_ms: int, status: CheckStatus
) -> None:
    check = waits_check(monkeypatch, waits=True)
    handshake, ms = 5_000_000, 1_000_000
    first = handshake + warm_ms * ms
    second = first + 10 * ms + idle_ms * ms
    lines = [
        {"event": "connection", "primes": False, "t_handshake_ns": handshake},
        {"event": "object", "path": "/2", "t_start_ns": second, "t_end_ns": second + 10 * ms},
        {"event": "object", "path": "/1", "t_start_ns": first, "t_end_ns": first + 10 * ms},
    ]
    assert check.judge({"trial": seen(client=lines)}).status is status


def test_a_client_that_never_waits_is_not_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    check = waits_check(monkeypatch)
    assert not check.wants
    assert check.judge({}).status is CheckStatus.NOT_APPLICABLE


@pytest.mark.parametrize("name", sorted(name for name, stack in registry.load("stacks").items() if stack.versions))
def test_every_knob_of_a_shipped_stack_has_a_proof_over_each_of_its_protocols(name: str) -> None:
    unproven = []
    for stack, version in selected([name]):
        if stack.end_roles and not stack.outside:
            own = [check for check in knobs(subject(f"{name}@{version}")) if not check.wants]
            unproven += [check.name for check in own if judged(check, {}).status is CheckStatus.FAILED]
    assert unproven == []
