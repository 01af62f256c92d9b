"""Time in which flow control of HTTP/2 stops a sender over TCP, in loads written by hand."""

from dataclasses import replace

import pytest

from longlook.explain.ledger import LedgerClass, make_ledger
from tests.data.scenes import TCP, Scene, ns

SEGMENT = 1198
FIRST = 4_294_960_000  # sequence numbers wrap in the load


def stalled(segments: int, acked: int = 0, streams: int = 1, **windows: int | None) -> Scene:
    """Segments from 10 ms on, one a ms, of which some are acknowledged while the rest is sent; the next one comes at
    110 ms, with what the client sent at 100 ms. The window has room throughout.
    """
    scene = Scene(flow=TCP)
    if windows:
        scene.metadata["http2_windows"] = {TCP: windows}
    scene.log(0.0, "metrics", cwnd_bytes=1_000_000, in_flight_bytes=0, srtt_ns=ns(20.0))
    scene.up(0.0)
    arrived = [scene.down(10.0 + at, transport_sequence=(FIRST + at * SEGMENT) % 2**32) for at in range(segments)]
    for number in range(acked):
        scene.up(1.0, 60, acknowledgement=(FIRST + (number + 1) * SEGMENT) % 2**32)
    scene.up(100.0, acknowledgement=(FIRST + segments * SEGMENT) % 2**32)
    done = scene.down(110.0, transport_sequence=(FIRST + segments * SEGMENT) % 2**32)
    for number in range(streams):
        scene.fetched(0.0, arrived[0], done, f"/{number}", size=segments * SEGMENT)
    return scene


def classes(scene: Scene, protocol: str = "h2", **knobs: int) -> dict[str, int]:
    client = replace(scene.trial.client, knobs=knobs)
    ledger = make_ledger(scene.timeline(), replace(scene.trial, protocol=protocol, client=client))
    assert ledger is not None
    own = (*(name for name in LedgerClass if "credit" in name), LedgerClass.SEND_BUFFER)
    return {str(name): total for name, total in ledger.totals().items() if name in own}


GAP = ns(80.0)  # 20 segments keep the link busy from 10 to 30 ms


@pytest.mark.parametrize("bytes_", [20 * SEGMENT, 19 * SEGMENT, 2 * 20 * SEGMENT])
def test_a_sender_that_stopped_with_half_to_all_of_a_streams_window_in_flight_waits_for_it(bytes_: int) -> None:
    assert classes(stalled(20, stream=bytes_, connection=10**9)) == {"http2_stream_credit": GAP}


@pytest.mark.parametrize("bytes_", [12 * SEGMENT, 4 * 20 * SEGMENT])
def test_with_more_or_less_in_flight_it_was_another_limit(bytes_: int) -> None:
    assert classes(stalled(20, stream=bytes_, connection=10**9)) == {"send_buffer": GAP}


def test_what_tcp_has_acknowledged_is_not_in_flight() -> None:
    assert classes(stalled(20, acked=10, stream=10 * SEGMENT, connection=10**9)) == {"http2_stream_credit": GAP}
    assert classes(stalled(20, acked=18, stream=20 * SEGMENT, connection=10**9)) == {"send_buffer": GAP}


def test_the_smaller_of_both_windows_holds_and_streams_add_up() -> None:
    both = {"stream": 12 * SEGMENT, "connection": 20 * SEGMENT}
    assert classes(stalled(20, streams=2, **both)) == {"http2_connection_credit": GAP}
    assert classes(stalled(12, **both)) == {"http2_stream_credit": ns(88.0)}
    wide = {"stream": 10 * SEGMENT, "connection": 60 * SEGMENT}
    assert classes(stalled(20, streams=2, **wide)) == {"http2_stream_credit": GAP}
    assert classes(stalled(20, stream=None, connection=20 * SEGMENT)) == {"http2_connection_credit": GAP}


def test_without_a_report_the_windows_are_those_that_the_study_set() -> None:
    assert classes(stalled(20), http2_stream_window=20 * SEGMENT) == {"http2_stream_credit": GAP}
    assert classes(stalled(20)) == {"send_buffer": GAP}
    reported = stalled(20, stream=10**8, connection=10**9)
    assert classes(reported, http2_stream_window=20 * SEGMENT) == {"send_buffer": GAP}


def test_another_protocol_over_tcp_has_no_such_windows() -> None:
    assert classes(stalled(20, stream=20 * SEGMENT, connection=10**9), "http/1.0") == {"send_buffer": GAP}


def test_a_receive_window_that_limited_the_kernel_for_a_while_does_so_until_that_ended() -> None:
    scene = stalled(20, stream=20 * SEGMENT, connection=10**9)
    scene.log(12.0, "blocked", name="receive_window", detail="state", value=67_584.0)
    assert classes(scene) == {"connection_credit": GAP}
    scene.log(60.0, "blocked", name="receive_window", detail="ended")
    assert classes(scene) == {"connection_credit": ns(30.0), "http2_stream_credit": ns(50.0)}
    scene.log(70.0, "blocked", name="receive_window", detail="state", value=67_584.0)
    assert classes(scene) == {"connection_credit": ns(70.0), "http2_stream_credit": ns(10.0)}
