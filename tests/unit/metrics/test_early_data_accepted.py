"""Early data that a server took, on handshakes written by hand."""

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows

QUIC, OTHER, TCP = "udp 10.8.0.1:4 10.8.0.2:443", "udp 10.8.0.1:5 10.8.0.2:443", "tcp 10.8.0.1:4 10.8.0.2:443"


def accepted(*handshakes: tuple[str, str, str | None]) -> float | None:
    rows = [
        {"time_ns": time, "vantage": vantage, "flow": flow, "kind": "handshake_done", "name": name, "priming": False}
        for time, (vantage, flow, name) in enumerate(handshakes)
    ]
    return find_metric("early_data_accepted").measure(Timeline(table_of_rows(rows)))


def test_a_load_with_one_connection_has_all_or_nothing() -> None:
    assert accepted(("client", QUIC, "0rtt"), ("server", QUIC, "0rtt")) == 100
    assert accepted(("client", QUIC, "resumed")) == 0
    assert accepted(("client", QUIC, "cold"), ("server", QUIC, "cold")) == 0


def test_the_servers_word_counts_before_the_clients() -> None:
    assert accepted(("server", QUIC, "resumed"), ("client", QUIC, "0rtt")) == 0
    assert accepted(("client", QUIC, "0rtt"), ("server", QUIC, None)) == 100


def test_of_several_connections_the_share_counts() -> None:
    assert accepted(("client", QUIC, "0rtt"), ("client", OTHER, "cold")) == pytest.approx(50)


def test_over_tcp_or_where_no_end_knows_there_is_no_value() -> None:
    assert accepted(("client", TCP, "resumed")) is None
    assert accepted(("client", QUIC, None)) is None
    assert accepted() is None
