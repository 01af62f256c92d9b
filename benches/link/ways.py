"""All emulators that the benchmark measures: ours in several settings, the kernel's tbf and bridge, and the peers.

With LONGLOOK_BENCH_FORMER=PROGRAM another build of `longlook-link` carries the streams too, in the same rounds.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.link.peers import MAHIMAHI, RATTAN, Peer, Shape
from longlook.instruments.calibrate.link.link_probe import LinkBed
from longlook.instruments.calibrate.link.probe import (
    FLOOD_PRIORITY,
    SENDER_PRIORITY,
    Arrivals,
    Receiver,
    send_regularly,
    stream_bps,
)
from longlook.lab import CLIENT, PACKET, SERVER, TUN, EndpointNamespace, Namespace
from longlook.lab.topology import OFFLOAD

FULL_BYTES, SMALL_BYTES, ETHERNET_BYTES = 1500, 200, 14
TBF_BURST_BYTES = 3_000  # two packets: the least that a token bucket sends at once
DELAY_MS, DELAY_PACKETS_PER_S = 20, 1_000
FORMER = os.environ.get("LONGLOOK_BENCH_FORMER")
_FASTER = 1.3  # than the link, so that it never waits for the sender

Stages = list[dict[str, Any]]


@dataclass(frozen=True)
class Way:
    """The path of packets from sender to receiver: the emulator and its settings."""

    name: str
    datapath: str = PACKET
    options: Sequence[str] = ()
    peer: str | None = None
    fifo: bool = False
    tbf: bool = False
    bridge: bool = False
    program: str | None = None

    @property
    def extra_bytes(self) -> int:
        """Return the bytes of a packet beyond IP that the emulator counts."""
        return ETHERNET_BYTES if self.tbf else 0


def spinning(microseconds: int) -> tuple[str, ...]:
    """Return the options of the router."""
    return ("--spin-us", str(microseconds))


OURS = (
    Way("packet, no spin"),
    Way("packet, spin 50 us", options=spinning(50)),
    Way("packet, spin 100 us", options=spinning(100)),
    Way("tun, spin 100 us", TUN, spinning(100)),
    Way("offload, spin 100 us", OFFLOAD, spinning(100)),
    Way("packet, spin 100 us, no real-time priority", options=(*spinning(100), "--no-fifo")),
)
PEERS = (
    *((Way("rattan", peer="rattan"), Way("rattan, fifo", peer="rattan", fifo=True)) if RATTAN else ()),
    *((Way("mahimahi", peer="mahimahi"), Way("mahimahi, fifo", peer="mahimahi", fifo=True)) if MAHIMAHI else ()),
)
TBF = Way("kernel tbf", tbf=True)
BRIDGE = Way("kernel bridge, no emulator", bridge=True)
FORMERS = (Way("former packet", program=FORMER), Way("former tun", TUN, program=FORMER)) if FORMER else ()


def delayed(way: Way, count: int, delay_ms: int = DELAY_MS) -> Arrivals:
    """Send packets once a millisecond through a link with a delay alone, and return their arrivals."""
    if way.peer is not None:
        arguments = ["--count", str(count), "--rate", str(DELAY_PACKETS_PER_S), "--size", str(SMALL_BYTES)]
        return _through_peer(
            way, lambda peer: peer.send(Shape(delay_ms), [*arguments, "--fifo", str(SENDER_PRIORITY)], 0.1)
        )
    stages = [{"kind": "delay", "parameters": {"delay_ns": delay_ms * 1_000_000}}] if delay_ms else []
    with tempfile.TemporaryDirectory() as place, _bed(place, way, stages) as bed:
        with Receiver(bed.server.namespace, Path(place)) as receiver:
            send_regularly(bed.client, count, DELAY_PACKETS_PER_S, SMALL_BYTES)
            time.sleep(delay_ms / 1e3 + 0.1)
        bed.stop()
        return receiver.arrivals


def saturated(way: Way, mbit: int, seconds: float) -> Arrivals:
    """Send more than a link with a rate alone carries, with a queue for everything, and return the arrivals."""
    packets_per_s = mbit * 1e6 / 8 / FULL_BYTES
    count = int(packets_per_s * seconds)
    # In groups: a sender that wakes for each packet could not keep up with a fast link.
    group, sent_per_s, drain_s = max(1, mbit // 100), packets_per_s * _FASTER, seconds * (1 - 1 / _FASTER) + 0.2
    if way.peer is not None:
        arguments = ["--count", str(count), "--rate", str(sent_per_s), "--group", str(group), "--size", str(FULL_BYTES)]
        arguments += ["--fifo", str(FLOOD_PRIORITY)]
        return _through_peer(way, lambda peer: peer.send(Shape(rate_mbit=mbit), arguments, drain_s))
    queue_bytes = count * FULL_BYTES
    rate = {"kind": "rate", "parameters": {"rate_bps": mbit * 1_000_000, "queue_bytes": queue_bytes}}
    with tempfile.TemporaryDirectory() as place, _bed(place, way, [] if way.tbf else [rate]) as bed:
        if way.tbf:
            client = bed.client.namespace
            index = client.index(bed.client.end.device)
            limit_bytes = int(queue_bytes * 1.1)
            client.netlink.tc("add", "tbf", index, rate=f"{mbit}mbit", burst=TBF_BURST_BYTES, limit=limit_bytes)
        with Receiver(bed.server.namespace, Path(place)) as receiver:
            send_regularly(bed.client, count, sent_per_s, FULL_BYTES, group, priority=FLOOD_PRIORITY)
            time.sleep(drain_s)
        bed.stop()
        return receiver.arrivals


def streamed(way: Way, seconds: float) -> float:
    """Return the rate of one TCP connection (cubic) in bit/s through a link without impairments."""
    if way.peer is not None:
        with tempfile.TemporaryDirectory() as place, Peer(way.peer, Path(place), fifo=way.fifo) as peer:
            return peer.stream_bps(seconds)
    if way.bridge:
        with _bridged() as (client, server):
            return _stream(client, server, seconds)
    with tempfile.TemporaryDirectory() as place, _bed(place, way, []) as bed:
        measured = _stream(bed.client, bed.server, seconds)
        bed.stop()
        return measured


def _stream(client: EndpointNamespace, server: EndpointNamespace, seconds: float) -> float:
    for side in (client, server):
        side.set_tcp("cubic", {})
    return stream_bps(client, server, seconds)


@contextmanager
def _bridged() -> Iterator[tuple[EndpointNamespace, EndpointNamespace]]:
    """Give both sides of a laboratory in which the kernel's bridge stands in the router's place."""
    with ExitStack() as stack:
        router = stack.enter_context(Namespace())
        sides = [stack.enter_context(EndpointNamespace(end, router, PACKET)) for end in (CLIENT, SERVER)]
        router.netlink.link("add", ifname="br0", kind="bridge")
        bridge = router.index("br0")
        for end in (CLIENT, SERVER):
            router.netlink.link("set", index=router.index(end.router_device), master=bridge)
        router.netlink.link("set", index=bridge, state="up")
        yield sides[0], sides[1]


def _bed(place: str, way: Way, stages: Stages) -> LinkBed:
    config = {"version": 2, "seed": 1, "linger_ns": 50_000_000, "up": stages, "down": []}
    return LinkBed(Path(place), config, way.datapath, way.options, program=way.program)


def _through_peer(way: Way, send: Callable[[Peer], Arrivals]) -> Arrivals:
    if way.peer is None:
        raise ValueError(f"{way.name} is ours")
    with tempfile.TemporaryDirectory() as place, Peer(way.peer, Path(place), fifo=way.fifo) as peer:
        return send(peer)
