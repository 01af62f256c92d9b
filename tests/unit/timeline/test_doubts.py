"""What a trace contradicts of itself is not counted, and whoever concludes from it says so."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from longlook.timeline.doubts import ABOUT, KINDS, DoubtfulValue, doubts_of, trusted
from longlook.timeline.events import EventKind, Events
from tests.data.events import events_of, row
from tests.data.scenes import Scene

TRACE = "qlog/server/a.sqlog"
FLOW, OTHER = "udp 198.18.0.2:1 198.18.0.1:443", "udp 198.18.0.2:2 198.18.0.1:443"


def metadata(*checks: str, connection: int = 1) -> dict[str, Any]:
    """Of a server's trace with two connections, one of which contradicts itself."""
    found = [{"check": check, "connection": connection, "problem": "it is odd"} for check in checks]
    sources = {TRACE: {"connections": [{"flow": OTHER}, {"flow": FLOW}], "implausible": found}}
    return {"sources": sources}


def rows_of(kind: EventKind, **columns: Any) -> list[dict[str, Any]]:
    """A row of each connection, and one of the other end."""
    ends = (("server", FLOW), ("server", OTHER), ("client", FLOW))
    return [row(1, kind, vantage=end, flow=flow, **columns) for end, flow in ends]


def events(*checks: str) -> Events:
    figures = {"srtt_ns": 5, "rttvar_ns": 1, "min_rtt_ns": 4, "latest_rtt_ns": 6, "acked_bytes": 9, "cwnd_bytes": 10}
    rows = [each for kind in EventKind for each in rows_of(kind, **(figures if kind is EventKind.METRICS else {}))]
    return events_of(*rows).with_metadata(metadata(*checks))


def counted(found: Events, kind: EventKind) -> list[tuple[str, str]]:
    return [(each["vantage"], each["flow"]) for each in found.select(kind).to_pylist()]


def figures_of(found: Events) -> dict[str, Any]:
    """Return the figures of the connection that contradicts itself."""
    own = found.select(EventKind.METRICS, "server", FLOW).to_pylist()[0]
    return {name: own[name] for name in ("srtt_ns", "min_rtt_ns", "latest_rtt_ns", "acked_bytes", "cwnd_bytes")}


def test_every_check_of_the_decoder_is_known() -> None:
    """The names stand in the decoder's sources: a new check must say what it puts in doubt."""
    sources = Path(__file__).parents[3] / "crates" / "trace" / "src" / "plausible"
    text = "".join(path.read_text() for path in sorted(sources.glob("*.rs")))
    assert [check for check in ABOUT if f'"{check}"' not in text] == []
    named = {word for word in text.split('"') if word.replace("_", "").isalpha() and "_" in word and word.islower()}
    assert named == set(ABOUT)


def test_without_a_contradiction_nothing_changes() -> None:
    whole = events()
    assert trusted(whole) is whole


def test_round_trips_in_doubt_are_null_in_their_own_connection_alone() -> None:
    found = trusted(events("rtt_below_send_to_ack"))
    nothing = {"srtt_ns": None, "min_rtt_ns": None, "latest_rtt_ns": None}
    assert figures_of(found) == {**nothing, "acked_bytes": 9, "cwnd_bytes": 10}
    assert found.select(EventKind.METRICS)["srtt_ns"].to_pylist() == [None, 5, 5]
    assert found.table.num_rows == events().table.num_rows
    assert found.metadata == metadata("rtt_below_send_to_ack")


@pytest.mark.parametrize("check", ["acked_none", "acked_unsent", "acked_more_than_sent", "lost_more_than_sent"])
def test_rows_in_doubt_and_what_follows_from_them_are_left_out(check: str) -> None:
    found = trusted(events(check))
    gone = {kind for kind in EventKind if ("server", FLOW) not in counted(found, kind)}
    assert gone == {kind for value in ABOUT[check] for kind in KINDS[value]}
    assert all(counted(found, kind)[-2:] == [("server", OTHER), ("client", FLOW)] for kind in EventKind)


def test_numbers_in_doubt_leave_the_packets_themselves() -> None:
    found = trusted(events("sent_twice"))
    assert ("server", FLOW) in counted(found, EventKind.PACKET_SENT)
    assert ("server", FLOW) not in counted(found, EventKind.PACKET_LOST)


def test_a_connection_without_a_place_at_the_link_is_found_too() -> None:
    sources = {"netlog.json": {"connections": [{"flow": None}], "implausible": [one("acked_none")]}}
    whole = events_of(row(1, "packet_acked", vantage="client"), row(2, "packet_acked", vantage="client", flow=FLOW))
    found = trusted(whole.with_metadata({"sources": sources}))
    assert found.table["time_ns"].to_pylist() == [2]


def one(check: str) -> dict[str, Any]:
    return {"check": check, "connection": 0, "problem": "it is odd"}


def test_a_check_that_is_not_known_is_said() -> None:
    (doubt,) = doubts_of({"sources": {TRACE: {"connections": [], "implausible": [one("of_later")]}}})
    assert (doubt.about, doubt.flow, doubt.vantage) == (frozenset(), None, "server")
    assert doubt.sentence == f"{TRACE} is implausible: it is odd (of_later)"


@pytest.mark.parametrize(
    ("trace", "vantage"),
    [
        ("qlog/client/server-1/x.qlog", "client"),
        ("qlog/server/client-1/x.qlog", "server"),
        ("tcp/server.tcptrace", "server"),
        ("tcp/client.tcptrace", "client"),
        ("netlog.json", "client"),
    ],
)
def test_the_end_of_a_trace_is_that_of_its_folder(trace: str, vantage: str) -> None:
    (doubt,) = doubts_of({"sources": {trace: {"connections": [], "implausible": [one("acked_none")]}}})
    assert doubt.vantage == vantage


def test_the_sentence_says_what_is_not_counted() -> None:
    (doubt,) = doubts_of(metadata("acked_none"))
    assert doubt.sentence == f"{TRACE} is implausible: it is odd (acked_none); its acknowledgements are not counted"
    (several,) = doubts_of(metadata("sent_twice"))
    assert several.sentence.endswith("its acknowledgements, declared losses and packet numbers are not counted")
    assert several.about == {DoubtfulValue.ACKNOWLEDGEMENTS, DoubtfulValue.LOSSES, DoubtfulValue.NUMBERS}


def test_no_event_in_doubt_is_counted_as_if_there_were_none() -> None:
    scene = Scene()
    scene.fetched(0.0, 10.0, 20.0)
    whole = events_of(row(11_000_000, "packet_lost", flow=FLOW), row(12_000_000, "metrics", flow=FLOW, srtt_ns=5))
    for check, lost in ((None, 1), ("lost_more_than_sent", None), ("rtt_above_trace", 1)):
        known = whole.with_metadata(metadata(*[check] if check else []))
        rows = scene.timeline().with_events(known).events_in_load([EventKind.PACKET_LOST], "server")
        assert (None if rows is None else rows.num_rows) == lost


def test_a_doubt_about_a_priming_connection_is_none_about_the_measured_one() -> None:
    scene = Scene()
    scene.fetched(0.0, 10.0, 20.0)
    rows = [row(11_000_000, "packet_lost", flow=OTHER), {**row(1, "packet_lost", flow=FLOW), "priming": True}]
    known = events_of(*rows).with_metadata(metadata("lost_more_than_sent"))  # of FLOW
    found = scene.timeline().with_events(known).events_in_load([EventKind.PACKET_LOST], "server")
    assert found is not None and found["flow"].to_pylist() == [OTHER]


def test_the_metadata_survives_a_file(tmp_path: Path) -> None:
    whole = events("acked_none")
    trusted(whole).write(tmp_path / "events.parquet")
    assert pq.read_schema(tmp_path / "events.parquet").equals(whole.table.schema)
    assert doubts_of(Events.read(tmp_path / "events.parquet").metadata) == doubts_of(metadata("acked_none"))
