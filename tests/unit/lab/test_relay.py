"""Proxies to which clients tunnel: what the client connects to, and how the relay beside it is called."""

from dataclasses import replace

from longlook.core.job import Identity, Program
from longlook.core.model import Endpoint
from longlook.core.stack import ProxyJob, RelayJob
from longlook.lab.addresses import IPV4
from longlook.lab.proxy_run import connected_to
from longlook.stacks.masque import STACK
from tests.data.trials import trial

IDENTITY = Identity(host="www.example.test", ca="ca.pem", certificate="c.pem", key="k.pem", spki_sha256="")


def test_a_client_that_tunnels_connects_to_the_relay_beside_it() -> None:
    plain = trial()
    through = {name: replace(plain, proxy=Endpoint(name, "1")) for name in ("masque", "envoy")}
    assert connected_to(plain) == IPV4.server
    assert connected_to(through["envoy"]) == IPV4.middle
    assert connected_to(through["masque"]) == IPV4.client


def test_the_relay_is_told_of_the_proxy_and_of_the_server() -> None:
    program = Program("/program", "digest")
    knobs = {"tunnel": "warm"}
    proxy = ProxyJob("h3", "10.8.255.1", 443, "10.8.0.2:443", IDENTITY, knobs)
    relay = RelayJob("h3", "10.8.0.1", 443, "10.8.255.1:443", IDENTITY, knobs, "10.8.0.2:443")
    assert STACK.proxy_command is not None
    assert STACK.relay_command is not None
    one, other = STACK.proxy_command(program, proxy).argv, STACK.relay_command(program, relay).argv
    assert (one[1], other[1]) == ("proxy", "relay")
    assert "--target" not in one
    assert other[other.index("--upstream") + 1] == "10.8.255.1:443"
    assert other[other.index("--target") + 1] == "10.8.0.2:443"
    assert one[-2:] == other[-2:] == ("--knob", "tunnel=warm")
