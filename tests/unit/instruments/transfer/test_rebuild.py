"""A recorded transfer as a trial that repeats it: the fit, its correction, its study and the likeness of both."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import InputError, Scalar, units
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.rebuild.document import rebuilt_document, rebuilt_study, study_text
from longlook.instruments.transfer.rebuild.fit import fit_transfer, requests_of
from longlook.instruments.transfer.rebuild.likeness import likeness_of
from longlook.instruments.transfer.rebuild.parts import Fitted, Rebuilt
from longlook.instruments.transfer.rebuild.refit import drops, refit
from longlook.study import installed
from tests.unit.instruments.transfer.recordings import (
    Event,
    acknowledgement,
    arrived,
    explained,
    flights,
    lost,
    metrics,
    sent,
)

NO_KNOBS: dict[str, Sequence[str]] = {"server": (), "client": ()}


def fitted(answer: TransferAnswer, **settings: Scalar) -> Rebuilt:
    return fit_transfer(answer, installed().stacks, {key.replace("__", "."): value for key, value in settings.items()})


def queued(rtt_ms: float = 20, step_ms: float = 2.0, count: int = 200) -> list[Event]:
    """A sender whose packets leave twice as fast as the path serves them."""
    events = [metrics(0, congestion_window=10_000_000, smoothed_rtt=rtt_ms)]
    events += [sent(place * step_ms / 2, place) for place in range(count)]
    return events + [acknowledgement(rtt_ms + place * step_ms, place, 0, place) for place in range(count)]


def named(answer: TransferAnswer, producer: str) -> TransferAnswer:
    return replace(answer, case=replace(answer.case, recording=replace(answer.recording, producer=producer)))


def test_a_standing_queue_shows_the_rate_of_the_path_and_its_length(tmp_path: Path) -> None:
    found = fitted(explained(tmp_path / "a.sqlog", queued()))
    assert units.parse_rate(found.settings["network.rate"]) == pytest.approx(1278 * 8 / 2e-3, rel=0.02)
    assert units.parse_time(found.settings["network.rtt"]) == pytest.approx(20e6, rel=0.01)
    longest_wait_s = 199 * 1e-3  # nothing was lost, so the queue is longer than that
    assert units.parse_size(found.settings["network.down.queue"]) == pytest.approx(
        2 * longest_wait_s * 639_000, rel=0.05
    )


def test_a_path_without_a_queue_is_made_to_limit_nothing(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", flights(rtt_ms=50, window=10, count=20))
    found = fitted(answer)
    assert answer.path.rate_bps is not None
    assert units.parse_rate(found.settings["network.rate"]) > 3.5 * answer.path.rate_bps
    assert units.parse_size(found.settings["network.down.queue"]) >= 96_000


def test_losses_without_a_queue_are_dropped_at_their_places(tmp_path: Path) -> None:
    events = flights(rtt_ms=50, window=10, count=20)
    spared = {31, 32, 33, 77}
    events = [event for event in events if not (event[1] == "quic:packet_received" and event[0] in (50.0,))]
    for at, number in ((230.0, 31), (230.0, 32), (230.0, 33), (450.0, 77)):
        events.append(lost(at, number))
    acks = [event for event in events if event[1] == "quic:packet_received"]
    for at, _, data in acks:
        frame = data["frames"][0]  # type: ignore[index]
        first, last = frame["acked_ranges"][0]
        kept = [number for number in range(first, last + 1) if number not in spared]
        frame["acked_ranges"] = [[number, number] for number in kept]
        assert at > 0
    found = fitted(explained(tmp_path / "a.sqlog", events))
    assert found.dropped == (31, 32, 33, 77)
    assert drops(found) == ""  # before a trial has shown where the first packet is
    assert drops(replace(found, first_place=3)) == "drop 34-36, 80"


def test_packets_that_were_late_are_not_dropped(tmp_path: Path) -> None:
    events = [*flights(rtt_ms=50, window=10, count=20), lost(40, 5)]
    found = fitted(explained(tmp_path / "a.sqlog", events))
    assert found.dropped == ()
    assert any("acknowledged later" in sentence for sentence in found.lacks)


def test_a_receiver_tells_skipped_numbers_from_lost_packets_by_the_holes_in_the_data(tmp_path: Path) -> None:
    events: list[Event] = [sent(0, 0, 300), sent(10, 1, 60)]
    offset = 0
    for number in range(100):
        at = 40 + number
        if number == 30:  # skipped: its successor goes on where its predecessor ended
            continue
        if number != 60:
            events.append(arrived(at, number, offset=offset))
        offset += 1200
    found = fitted(explained(tmp_path / "a.sqlog", events, end="client"))
    assert found.dropped == (59,)  # its place among the packets that were sent
    assert any("left no hole in the data: 1" in sentence for sentence in found.lacks)


def test_requests_in_sequence_stay_in_sequence(tmp_path: Path) -> None:
    events: list[Event] = [sent(0, 0, 300)]
    for stream, at in ((0, 40), (4, 400), (8, 760)):
        events += [sent(at - 40 + 0.5, 10 + stream, 300)]
        events += [arrived(at + place, stream * 25 + place, stream, 1200 * place) for place in range(100)]
    answer = explained(tmp_path / "a.sqlog", events, end="client")
    assert [request.size_bytes for request in requests_of(answer.recording)] == [120_000] * 3
    found = fitted(answer)
    assert found.workload["objects"] == 3
    assert found.workload["at_once"] == 1
    assert units.parse_time(found.workload["idle"]) == pytest.approx(260e6 - 40e6, abs=25e6)


@pytest.mark.parametrize(
    ("producer", "program", "said"),
    [
        ("quic-go v0.65.0", "quic-go@0.65.0+knobs", "the trace's"),
        ("quic-go v0.65.9", "quic-go@0.65.0+knobs", "nearest version"),
        ("quiche 0.31.0", "quiche@0.30.0", "nearest version"),
        ("tquic", "tquic@1.6.0", "names no version"),
        ("netty", "quic-go@0.65.0", "netty is not at hand"),
        ("caddy", "quic-go@0.65.0", "stands for it"),  # a server alone
    ],
)
def test_the_program_is_the_nearest_that_there_is(tmp_path: Path, producer: str, program: str, said: str) -> None:
    found = fitted(named(explained(tmp_path / "a.sqlog", queued()), producer))
    assert str(found.settings["server"]).startswith(program)
    assert found.settings["client"] == found.settings["server"]
    assert said in found.fitted["program"].found


def test_a_rate_beyond_what_trials_can_is_refused_and_a_given_one_is_taken(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", queued(rtt_ms=2, step_ms=0.02, count=1000))
    with pytest.raises(InputError, match="processors decide"):
        fitted(answer)
    assert fitted(answer, network__rate="100Mbit").settings["network.rate"] == "100Mbit"


def test_a_client_that_sends_is_an_upload(tmp_path: Path) -> None:
    found = fitted(explained(tmp_path / "a.sqlog", queued(), end="client"))
    assert found.uplink
    assert found.workload["kind"] == "upload"
    assert "network.up.queue" in found.settings


def test_the_correction_takes_what_differs_and_leaves_what_was_given(tmp_path: Path) -> None:
    wanted = explained(tmp_path / "a.sqlog", queued(rtt_ms=20))
    trial = explained(tmp_path / "b.sqlog", queued(rtt_ms=24))
    first = fitted(wanted)
    corrected = refit(first, wanted, trial, link_packets=203, knobs=NO_KNOBS)
    assert units.parse_time(corrected.settings["network.rtt"]) == pytest.approx(16e6, rel=0.01)
    assert corrected.first_place == 3
    given = fitted(wanted, network__rtt="30ms")
    assert refit(given, wanted, trial, link_packets=203, knobs=NO_KNOBS).settings["network.rtt"] == "30ms"


def test_a_first_window_that_cannot_be_set_is_said(tmp_path: Path) -> None:
    wanted = explained(tmp_path / "a.sqlog", flights(rtt_ms=50, window=10, count=20))
    trial = explained(tmp_path / "b.sqlog", flights(rtt_ms=50, window=32, count=7))
    first = fitted(wanted)
    assert any("first window" in each for each in refit(first, wanted, trial, 203, NO_KNOBS).lacks)
    able: dict[str, Sequence[str]] = {"server": ("initial_window",), "client": ()}
    assert refit(first, wanted, trial, 203, able).settings["server_knobs.initial_window"] == 10


def test_the_study_of_a_fit_is_one_that_can_be_read_and_run(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", queued())
    found = replace(fitted(answer), dropped=(5, 6, 9), first_place=3)
    document = rebuilt_document(found, answer)
    study = rebuilt_study(document, installed())
    assert study.settings["network.surgery.down"] == "drop 8-9, 12"
    text = study_text(document, ["a comment"])
    flat = tomllib.loads(text)
    assert flat["arms"]["rebuilt"]["server"] == found.settings["server"]
    assert flat["network"]["surgery"]["down"] == "drop 8-9, 12"


@given(st.text(), st.lists(st.text()))
def test_any_text_survives_the_study_file(title: str, comments: list[str]) -> None:
    title = title.encode(errors="replace").decode()
    text = study_text({"title": title, "table": {"value": title}}, [])
    assert tomllib.loads(text) == {"title": title, "table": {"value": title}}
    assert tomllib.loads(study_text({}, [comment.encode(errors="replace").decode() for comment in comments])) == {}


def test_a_transfer_is_like_itself_and_not_like_another(tmp_path: Path) -> None:
    one = explained(tmp_path / "a.sqlog", flights(rtt_ms=50, window=10, count=20))
    same = likeness_of(one, one)
    assert same.alike
    assert (same.time_factor, same.class_distance) == (1, 0)
    other = likeness_of(one, explained(tmp_path / "b.sqlog", queued()))
    assert not other.alike
    assert other.class_distance > 0.5


def test_what_is_given_is_not_said_to_be_fitted() -> None:
    given: dict[str, Scalar] = {"network.rtt": "5ms"}
    blank = Rebuilt("server", False, given, given, {}, {}, (), ())
    part = Fitted("round trip", "9ms", "the trace", ("network.rtt",))
    assert blank.corrected(part) == blank


def test_what_is_given_stands_above_every_fitted_setting_of_the_same_quantity(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", queued())
    found = fitted(answer, network__queue="30KB", client="quinn", workload__object="5MB", network__rate="12Mbit")
    assert found.settings["network.queue"] == "30KB"
    assert "network.down.queue" not in found.settings
    assert (found.settings["client"], found.workload["object"]) == ("quinn", "5MB")
    assert str(found.settings["server"]).startswith("quic-go@")
    assert found.fitted["workload.object"].found == "given by --set"
    assert "load" not in found.fitted
    assert study_is_sound(found, answer)


def study_is_sound(found: Rebuilt, answer: TransferAnswer) -> bool:
    return rebuilt_study(rebuilt_document(found, answer), installed()).id == "reproduce"


@pytest.mark.parametrize("value", ["abc", "0bit", 100, "1Gbit"])
def test_a_given_rate_that_cannot_be_is_refused_in_a_sentence(tmp_path: Path, value: Scalar) -> None:
    with pytest.raises(InputError, match=r"--set network\.rate"):
        fitted(explained(tmp_path / "a.sqlog", queued()), network__rate=value)


def test_a_given_rate_and_round_trip_that_vary_are_left_alone(tmp_path: Path) -> None:
    wanted = explained(tmp_path / "a.sqlog", queued())
    changing = "uniform(5Mbit, 15Mbit, 1s)"
    found = fitted(wanted, network__rate=changing, network__rtt="uniform(40ms, 50ms, 1s)")
    again = refit(found, wanted, explained(tmp_path / "b.sqlog", queued(rtt_ms=24)), 203, NO_KNOBS)
    assert (again.settings["network.rate"], again.settings["network.rtt"]) == (changing, "uniform(40ms, 50ms, 1s)")


def test_a_receiver_finds_losses_of_streams_that_share_the_connection(tmp_path: Path) -> None:
    events: list[Event] = [sent(0, 0, 300), sent(10, 1, 60)]
    offsets = {0: 0, 4: 0}
    for number in range(100):
        stream = 4 * (number % 2)
        if number not in (21, 44, 63):
            events.append(arrived(40 + number, number, stream, offsets[stream]))
        offsets[stream] += 1200
    assert fitted(explained(tmp_path / "a.sqlog", events, end="client")).dropped == (21, 44, 63)


def test_a_receiver_without_frames_of_streams_counts_its_packets(tmp_path: Path) -> None:
    events: list[Event] = [sent(0, 0, 300), sent(10, 1, 60)]
    for number in range(100):
        at, name, data = arrived(40 + number, number)
        events.append((at, name, {key: value for key, value in data.items() if key != "frames"}))
    found = fitted(explained(tmp_path / "a.sqlog", events, end="client"))
    assert units.parse_size(found.workload["object"]) == pytest.approx(100 * 1250, rel=0.05)


def test_a_rate_that_the_load_does_not_fit_is_not_believed(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", queued())
    found = fitted(answer)
    load_bits = 8 * units.parse_size(found.workload["object"])
    assert load_bits / units.parse_rate(found.settings["network.rate"]) <= answer.intervals.total_ns / 1e9
