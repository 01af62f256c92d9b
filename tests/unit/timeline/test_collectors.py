"""What traces cost, worked out by hand, and how the report says it."""

from dataclasses import replace
from pathlib import Path

import pytest

from longlook.report.provenance.traces import cost_rows
from longlook.report.write import write_report
from longlook.timeline.collectors import (
    RECORDER,
    Collected,
    CollectorCost,
    InDoubt,
    NotRecorded,
    collector_costs,
    in_doubt,
    not_recorded,
)
from longlook.timeline.doubts import Doubt
from longlook.timeline.normalise.trace_files import trace_sizes
from tests.data.report import small_content
from tests.data.trials import run

ARMS = ["tcp", "quic"]


def tcp(cpu_s: float | None, measure_s: float, size: int, **collectors: str) -> Collected:
    made = run(measure_s=measure_s, cpu_s={} if cpu_s is None else {"tracer": cpu_s, "server": 9.0})
    return Collected("tcp", replace(made, collectors=collectors), {RECORDER: size})


def test_costs_are_means_over_the_trials_that_have_the_trace() -> None:
    quic = Collected("quic", run(cpu_s={"server": 9.0}), {"qlog of the server": 500, "qlog of the client": 100})
    found = collector_costs([quic, tcp(0.01, 1.0, 100), tcp(0.03, 3.0, 300)], ARMS)
    assert found == [
        CollectorCost("tcp", RECORDER, 2, 200.0, pytest.approx(0.02), pytest.approx(0.01)),
        CollectorCost("quic", "qlog of the client", 1, 100.0, None, None),
        CollectorCost("quic", "qlog of the server", 1, 500.0, None, None),
    ]


def test_in_virtual_time_there_is_no_cpu_time() -> None:
    assert collector_costs([tcp(None, 1.0, 100)], ARMS) == [CollectorCost("tcp", RECORDER, 1, 100.0, None, None)]


def test_what_could_not_be_recorded_is_named_with_its_count() -> None:
    why = "tracefs needs root"
    trials = [tcp(0.01, 1.0, 100, tracepoints=why, sock_diag=""), tcp(0.01, 1.0, 100, tracepoints=why)]
    assert not_recorded(trials, ARMS) == [NotRecorded("tcp", "tracepoints", why, 2)]


def test_sizes_are_by_collector(tmp_path: Path) -> None:
    for name, size in (("qlog/server/a.sqlog", 3), ("qlog/server/b.sqlog", 4), ("tcp/client.tcptrace", 5)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "netlog.json").write_bytes(b"{}")
    assert trace_sizes(tmp_path) == {"qlog of the server": 7, RECORDER: 5, "netlog": 2}


def test_what_is_in_doubt_is_counted_by_trials() -> None:
    """Two traces of one end fail the same check in one trial, which is one trial."""
    doubts = tuple(Doubt(f"qlog/server/{name}", "server", None, "acked_none", "odd", frozenset()) for name in "ab")
    other = Doubt("qlog/client/c", "client", None, "acked_none", "odd", frozenset())
    trials = [
        Collected("quic", run(), {}, doubts),
        Collected("tcp", run(), {}),
        Collected("quic", run(), {}, (doubts[1], other)),
    ]
    assert in_doubt(trials, ARMS) == [
        InDoubt("quic", "client", "acked_none", other.sentence, 1),
        InDoubt("quic", "server", "acked_none", doubts[0].sentence, 2),
    ]


def test_the_report_shows_what_is_in_doubt(tmp_path: Path) -> None:
    content = small_content({})
    doubted = InDoubt(content.study.arms[0].name, "server", "acked_none", "a trace <b>is</b> implausible", 3)
    page = write_report(tmp_path, replace(content, in_doubt=[doubted])).read_text()
    assert "a trace &lt;b&gt;is&lt;/b&gt; implausible" in page
    assert "What traces contradict of themselves" in page


def test_the_report_shows_costs_and_what_is_missing(tmp_path: Path) -> None:
    content = small_content({})
    arm = content.study.arms[0].name
    cost = CollectorCost(arm, RECORDER, 7, 1_230_000.0, 0.0421, 0.0105)
    assert [(row["size"], row["cpu"], row["share"]) for row in cost_rows(content, [cost])] == [
        ("1.23\u00a0MB", "42.1\u00a0ms", "1.05\u00a0%")
    ]
    missing = NotRecorded(arm, "tracepoints", "tracefs needs root", 7)
    page = write_report(tmp_path, replace(content, costs=[cost], not_recorded=[missing])).read_text()
    assert "1.23\u00a0MB" in page and "tracefs needs root" in page and "Traces and their cost" in page
    assert "Traces and their cost" not in write_report(tmp_path, content).read_text()
