"""Expectations judged against timelines written by hand; a trial that does not say what is asked never fulfils one."""

from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.analysis.expectations import Finding, look
from longlook.study.catalogue import installed
from longlook.study.expectations import parse
from longlook.timeline import Events, NotKnownError, Timeline
from longlook.timeline.timeline import table_of_rows
from tests.data.events import events_of, row
from tests.data.link_rows import FLOW, crossed, dropped

MS = 1_000_000
CATALOGUE = installed()
BEGIN_MS = 100  # of the trial's clock: the load begins then, and all times below count from there
WINDOWS = ((10, 12_000), (100, 24_000), (200, 48_000), (300, 33_600), (500, 40_800))
STATES = ((5, "init"), (10, "slow_start"), (300, "recovery"), (360, "congestion_avoidance"))


def at(milliseconds: float, kind: str, **columns: Any) -> dict[str, Any]:
    return row(round((BEGIN_MS + milliseconds) * MS), kind, flow=FLOW, **columns)


def trace(*more: dict[str, Any], last_ms: float = 990) -> Events:
    figures = [at(when, "metrics", cwnd_bytes=size, srtt_ns=40 * MS) for when, size in WINDOWS]
    states = [at(when, "state", name=name, source="derived") for when, name in STATES]
    sent = [at(when, "packet_sent", size_bytes=1200, packet_number=when) for when in (10, 50, last_ms)]
    rows = sorted([*figures, *states, *sent, *more], key=lambda each: each["time_ns"])
    return events_of(*rows)


def load_of(*packets: dict[str, Any], end_ms: float = 1000, events: Events | None = None) -> Timeline:
    """A load from 0 to `end_ms`, both on the clock of this file."""
    request = {"time_ns": BEGIN_MS * MS, "vantage": "client", "kind": "request_sent", "priming": False, "name": "/"}
    done = {**request, "time_ns": round((BEGIN_MS + end_ms) * MS), "kind": "object_done"}
    moved = [
        {
            **each,
            **{name: each[name] + BEGIN_MS * MS for name in ("time_ns", "arrival_ns") if each.get(name) is not None},
        }
        for each in packets
    ]
    timeline = Timeline(table_of_rows(sorted([request, *moved, done], key=lambda each: each["time_ns"])))
    return timeline if events is None else timeline.with_events(events)


def seen(quantity: str, text: object, timeline: Timeline | None = None) -> Finding:
    return look(parse(quantity, text, CATALOGUE), timeline or load_of(events=trace()))


def unknown(quantity: str, text: object, timeline: Timeline | None = None) -> str:
    with pytest.raises(NotKnownError) as error:
        seen(quantity, text, timeline)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "holds", "value", "time_s"),
    [
        ("at 150ms >= 20 packets", True, 20.0, 0.15),
        ("at 99ms >= 20 packets", False, 10.0, 0.099),
        ("at 100ms = 24KB", True, 24_000.0, 0.1),
        ("from 300ms >= 28 packets", True, 28.0, 0.3),  # 33 600 B, the least from then on
        ("from 250ms <= 33.6KB", False, 48_000.0, 0.25),  # the value that holds at the begin of the span counts
        ("between 310ms and 400ms within 28 to 28 packets", True, 28.0, 0.31),
        ("until 250ms <= 48KB", True, 48_000.0, 0.2),
        ("once >= 40 packets", True, 40.0, 0.2),
        ("from 300ms once >= 40 packets", False, 34.0, 0.5),  # the nearest that there was
        (">= 9 packets", True, 10.0, 0.01),  # of the whole load: from the first value on
        ("at 400ms within 69 to 71 % of its value at 250ms", True, 70.0, 0.4),
        ("at 600ms >= 90 % of its value at 250ms", False, 85.0, 0.6),
    ],
)
def test_a_window_holds_until_the_next(text: str, holds: bool, value: float, time_s: float) -> None:
    found = seen("server_window", text)
    assert (found.holds, found.seen, found.time_s) == (holds, pytest.approx(value), pytest.approx(time_s))


@pytest.mark.parametrize(
    ("text", "holds", "name", "time_s"),
    [
        ("at 200ms slow_start", True, "slow_start", 0.2),
        ("at 300ms slow_start", False, "recovery", 0.3),
        ("once recovery", True, "recovery", 0.3),
        ("never timeout", True, "congestion_avoidance", 0.36),
        ("never recovery", False, "recovery", 0.3),
        ("from 100ms slow_start or recovery", False, "congestion_avoidance", 0.36),
        ("until 299ms init or slow_start", True, "slow_start", 0.01),
    ],
)
def test_a_state_holds_until_the_next(text: str, holds: bool, name: str, time_s: float) -> None:
    found = seen("state", text)
    assert (found.holds, found.seen, found.time_s) == (holds, name, pytest.approx(time_s))


def test_what_a_loss_leaves_of_the_window_is_seen_at_the_recovery() -> None:
    found = seen("window_after_loss", "within 69 to 71 %")
    assert (found.holds, found.seen, found.time_s) == (True, pytest.approx(70.0), pytest.approx(0.3))
    assert not seen("window_after_loss", "within 49 to 51 %").holds
    assert unknown("window_after_loss", "until 250ms within 69 to 71 %") == "nothing of the kind happened then"


def test_counts_are_of_the_span_that_is_meant() -> None:
    events = trace(
        at(300, "packet_lost", packet_number=7), at(310, "packet_lost", packet_number=8),
        at(700, "packet_lost", value=3.0),
        at(300, "packet_spurious", packet_number=7, name="link"),
        at(400, "pto", value=1.0), at(450, "pto", value=2.0), at(500, "pto", name="tlp"), at(600, "pto", name="rto"),
    )  # fmt: skip
    timeline = load_of(dropped(300), dropped(305), events=events)
    for quantity, text, value in (
        ("declared", 5, 5), ("declared", "until 650ms = 2", 2), ("spurious", 1, 1), ("probes", 2, 2),
        ("timeouts", 2, 2), ("timeouts", "from 500ms = 1", 1), ("drops", 2, 2), ("drops", "from 301ms = 1", 1),
    ):  # fmt: skip
        found = seen(quantity, text, timeline)
        assert (found.holds, found.seen) == (True, value), (quantity, text)


def test_rates_are_bytes_over_the_span() -> None:
    timeline = load_of(
        *({**crossed("down", arrival, arrival + 20), "size_bytes": 1000} for arrival in range(0, 980, 10))
    )
    found = seen("rate", "between 200ms and 400ms >= 1bit", timeline)
    assert found.seen == pytest.approx(1000 * 8 * 21 / 0.2)  # both ends of the span count
    assert seen("load", "= 1s").holds and not seen("load", "< 1s").holds
    assert seen("page_load_time", "within 999 to 1001 ms").holds


def test_a_time_beyond_the_load_is_never_fulfilled() -> None:
    for text in (
        "at 1001ms >= 1 packets",
        "from 1s >= 1 packets",
        "between 10ms and 2s >= 1 packets",
        "until 2s >= 1B",
    ):
        assert unknown("window", text).startswith("the load ended after 1 s, before")
    assert unknown("state", "at 2s never timeout").startswith("the load ended")
    assert unknown("rate", "from 2s <= 1Gbit").startswith("the load ended")
    assert unknown("window", "at 500ms >= 1 % of its value at 2s").startswith("the load ended")
    assert seen("window", "at 1s >= 1 packets").holds


def test_without_a_trace_nothing_is_known_of_a_sender() -> None:
    plain = load_of()
    for quantity, text in (("window", ">= 1B"), ("state", "never timeout"), ("timeouts", 0), ("declared", "<= 10")):
        assert "no trace of the server" in unknown(quantity, text, plain)
    assert "no trace of the client" in unknown("client_window", ">= 1B")
    assert "does not say it" in unknown("pacing", ">= 1bit")


def test_a_trace_that_ends_before_its_sender_says_nothing_of_the_rest() -> None:
    timeline = load_of(crossed("down", 900, 920), events=trace(last_ms=600))
    assert unknown("window", "from 300ms >= 1 packets", timeline).startswith("the trace of the server ends at 0.6 s")
    assert unknown("state", "never timeout", timeline).startswith("the trace of the server ends")
    assert unknown("timeouts", 0, timeline).startswith("the trace of the server ends")
    assert seen("window", "until 550ms >= 10 packets", timeline).holds
    assert seen("timeouts", "until 550ms = 0", timeline).holds


def test_a_value_before_the_first_is_not_known() -> None:
    assert unknown("window", "at 5ms >= 1 packets") == "it is not known before 0.01 s"
    assert unknown("window", "between 5ms and 20ms >= 1 packets") == "it is not known before 0.01 s"


def test_a_load_without_an_end_fulfils_nothing() -> None:
    request = {"time_ns": 0, "vantage": "client", "kind": "request_sent", "priming": False, "name": "/"}
    timeline = Timeline(table_of_rows([request])).with_events(trace())
    assert "did not end" in unknown("window", ">= 1 packets", timeline)
    assert "could not be measured" in unknown("page_load_time", "< 9s", timeline)
    assert "could not be measured" in unknown("stalls", 0)


def test_an_unknown_state_is_neither_there_nor_absent() -> None:
    timeline = load_of(events=trace(at(700, "state", name="unknown", source="derived")))
    assert "is unknown from 0.7 s on" in unknown("state", "from 400ms never slow_start", timeline)
    assert "is unknown" in unknown("state", "from 400ms congestion_avoidance", timeline)
    assert "is unknown" in unknown("state", "from 400ms once application_limited", timeline)
    assert not seen("state", "never slow_start", timeline).holds  # it was seen before
    assert seen("state", "never timeout", timeline).holds  # every log shows what losses begin
    assert seen("state", "once recovery", timeline).holds


def test_of_several_values_at_one_time_the_last_holds() -> None:
    events = trace(at(600, "metrics", cwnd_bytes=1), at(600, "metrics", cwnd_bytes=50_000))
    assert seen("window", "from 550ms >= 40KB", load_of(events=events)).holds


def test_of_several_connections_each_must_hold() -> None:
    other = "udp a c"
    second = row((BEGIN_MS + 20) * MS, "metrics", flow=other, cwnd_bytes=3000)
    found = seen("window", "from 100ms >= 10 packets", load_of(events=trace(second)))
    assert (found.holds, found.seen, found.flow) == (False, pytest.approx(2.5), other)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 998), st.integers(1, 10**6)), min_size=1, max_size=20, unique_by=itemgetter(0)),
    st.integers(0, 999), st.integers(0, 999), st.integers(1, 10**6),
)  # fmt: skip
def test_all_and_once_are_those_of_the_values_that_hold_in_a_span(
    steps: list[tuple[int, int]], one_ms: int, other_ms: int, bound: int
) -> None:
    """By an independent reading: the value of every millisecond, one by one."""
    begin_ms, end_ms = sorted((one_ms, other_ms + 1)) if one_ms != other_ms + 1 else (one_ms, one_ms + 1)
    figures = sorted(steps)
    events = events_of(
        *(at(when, "metrics", cwnd_bytes=size) for when, size in figures), at(999, "packet_sent", size_bytes=1200)
    )
    timeline = load_of(events=events)
    values = [
        next(size for when, size in reversed(figures) if when <= moment)
        for moment in range(begin_ms, end_ms + 1)
        if figures[0][0] <= moment
    ]
    span = f"between {begin_ms}ms and {end_ms}ms"
    if (begin_ms and begin_ms < figures[0][0]) or not values:
        assert unknown("window", f"{span} <= {bound}B", timeline)
        return
    assert seen("window", f"{span} <= {bound}B", timeline).holds == all(value <= bound for value in values)
    assert seen("window", f"{span} once <= {bound}B", timeline).holds == any(value <= bound for value in values)
