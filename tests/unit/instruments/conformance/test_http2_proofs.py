"""A client's windows of HTTP/2 are proven by the bytes of a round trip over TCP."""

import pytest

from longlook.instruments.conformance.checks import CheckStatus
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.proofs import PROOFS, proven_over
from tests.data.conformance import ask, data, knob, packets, seen

RTT_S = 0.2


def download(packets_a_round_trip: int) -> Seen:
    times = [turn * RTT_S + number * 1e-5 for turn in range(20) for number in range(packets_a_round_trip)]
    return seen(packets(data(times)))


@pytest.mark.parametrize("name", ["http2_stream_window", "http2_connection_window"])
def test_windows_of_http2_bound_a_round_trip_of_a_client_over_tcp(name: str) -> None:
    check = PROOFS[name](ask(name, knob(minimum=1), "client", {}))
    bound, free = download(150), download(230)
    assert [want.client.knobs for want in check.wants.values()] == [{}, {name: 200_000}]
    assert check.judge({"default": free, "set": bound}).status is CheckStatus.PASSED
    assert check.judge({"default": free, "set": free}).status is CheckStatus.FAILED
    assert check.judge({"default": bound, "set": bound}).status is CheckStatus.FAILED
    assert proven_over(name) == ("h2",)
