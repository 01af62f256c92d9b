"""What a protocol is, by its name."""

import pytest

from longlook.core.protocol import EITHER, find_protocol

FACTS = {
    "h3": "quic fetches udp",
    "h3-29": "quic fetches udp",
    "hq-interop": "quic fetches udp",
    "h2": "fetches tcp",
    "http/1.1": "fetches tcp",
    "http/1.0": "fetches connection_per_request tcp",
    "h3-or-h2": "fetches tcp",
    "udp": "cross_traffic udp",
    "udp-echo": "echoes udp",
    "quic-echo": "quic echoes udp",
    "quic-live": "quic live udp",
    "tls-live": "live tcp",
    "udp-live": "live udp",
    "nonesuch": "fetches tcp",
}


@pytest.mark.parametrize("name", FACTS)
def test_a_protocol_is_the_same_everywhere(name: str) -> None:
    protocol = find_protocol(name)
    said = ("quic", "fetches", "echoes", "live", "cross_traffic", "connection_per_request")
    assert " ".join([*(each for each in said if getattr(protocol, each)), protocol.transport]) == FACTS[name]
    assert protocol.spoken == (("h3", "h2") if protocol == EITHER else (name,))
