"""Classes of time and suspected causes by the trace of the end that sends."""

from pathlib import Path

import pytest

from longlook.core import InputError
from longlook.instruments.transfer.classes import TimeClass
from tests.unit.instruments.transfer.recordings import (
    PACKET_BYTES,
    acknowledgement,
    blocked,
    causes,
    explained,
    flights,
    lost,
    metrics,
    sent,
    share,
    written,
)


def test_a_full_window_is_the_limit_and_a_window_that_never_grows_is_suspected(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", flights(rtt_ms=50, window=10, count=20))
    assert share(answer, TimeClass.CONGESTION_WINDOW) > 0.9
    assert answer.path.shortest_rtt_ns == pytest.approx(50e6, rel=0.01)
    assert "window_capped" in causes(answer)
    assert answer.rests_on[0].startswith("All of this rests on the server end alone")


def test_every_nanosecond_is_in_one_class(tmp_path: Path) -> None:
    answer = explained(tmp_path / "a.sqlog", flights(rtt_ms=50, window=10, count=4))
    own = answer.intervals
    assert (own.start_ns[1:] == own.end_ns[:-1]).all()
    assert sum(own.sums().values()) == own.total_ns == own.end_ns[-1] - own.start_ns[0]


def test_a_queue_of_the_path_is_told_from_a_small_window(tmp_path: Path) -> None:
    events = [metrics(0, congestion_window=10_000_000, smoothed_rtt=20)]
    events += [sent(place * 1.0, place) for place in range(200)]  # the path serves one in 2 ms
    events += [acknowledgement(20 + place * 2.0, place, 0, place) for place in range(200)]
    answer = explained(tmp_path / "a.sqlog", events)
    assert share(answer, TimeClass.PATH) > 0.9
    assert answer.path.rate_bps == pytest.approx(PACKET_BYTES * 8 / 2e-3, rel=0.1)


def test_credit_that_is_used_up_is_named_with_its_limit(tmp_path: Path) -> None:
    events = [event for event in flights(rtt_ms=50, window=10, count=6) if event[1] != "quic:recovery_metrics_updated"]
    events += [metrics(0, congestion_window=10_000_000, smoothed_rtt=50)]
    events += [blocked(flight * 50.01 + 0.02, 12_500 * (flight + 1)) for flight in range(5)]
    answer = explained(tmp_path / "a.sqlog", events)
    assert share(answer, TimeClass.CONNECTION_CREDIT) > 0.7
    assert causes(answer)[0] == "connection_credit"
    assert "12,500" in answer.suspicions[0].says


def test_a_timer_that_is_not_logged_is_known_by_a_full_window_that_sends(tmp_path: Path) -> None:
    events = flights(rtt_ms=1, window=10, count=2)
    events = [event for event in events if event[0] < 1.9]
    events += [sent(2 + 100 * (2**probe), 20 + probe) for probe in range(5)]
    answer = explained(tmp_path / "a.sqlog", events)
    assert share(answer, TimeClass.TIMER) > 0.9
    assert "rto_backoff" in causes(answer)


def test_a_program_that_gives_nothing_is_told_from_the_window(tmp_path: Path) -> None:
    events = [metrics(0, congestion_window=10_000_000, smoothed_rtt=10)]
    for chunk in range(5):
        events += [sent(chunk * 500 + place * 0.01, chunk * 10 + place) for place in range(10)]
        events.append(acknowledgement(chunk * 500 + 10, chunk, chunk * 10, chunk * 10 + 9))
    answer = explained(tmp_path / "a.sqlog", events)
    assert share(answer, TimeClass.APPLICATION) > 0.9
    assert causes(answer)[0] == "application_limited"


def test_a_loss_that_was_none_is_proven_by_its_acknowledgement(tmp_path: Path) -> None:
    events = flights(rtt_ms=50, window=10, count=10)
    events += [lost(20 + 50 * flight, flight * 10) for flight in range(8)]
    events += [metrics(25 + 50 * flight, congestion_window=5 * PACKET_BYTES) for flight in range(8)]
    events += [(21.0, "quic:congestion_state_updated", {"new": "recovery"})]
    answer = explained(tmp_path / "a.sqlog", events)
    found = next(each for each in answer.suspicions if each.cause == "spurious_loss")
    assert found.evidence[0].packet == 0
    assert "acknowledged" in found.evidence[0].what


def test_a_trace_without_a_transfer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fewer than two packets with data"):
        explained(tmp_path / "a.sqlog", [sent(0, 0), acknowledgement(10, 0, 0, 0)])
    path = written(tmp_path / "b.sqlog", [metrics(0, congestion_window=1)])
    with pytest.raises(InputError, match="no packets of this connection"):
        explained(path, [metrics(0, congestion_window=1)])
