"""Delay and rate error of the link emulator from outside, a kernel shaper beside it, and the cost of a decision.

`python benches/link/bench_link.py --json` prints one JSON object. It needs root or user namespaces, and cargo.
"""

import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longlook.lab.linkprobe import Arrival, LinkBed, Sink, Source, rate_bps
from longlook.lab.netlink import NetlinkError
from longlook.lab.network import PACKET, TUN

ROOT = Path(__file__).resolve().parents[2]
DELAY_NS = 20_000_000
DELAY_PACKETS, DELAY_PACKETS_PER_S, DELAY_SIZE_BYTES = 4_000, 1_000, 200
FULL_BYTES, ETHERNET_BYTES = 1500, 14
SATURATED_S = 2.0
WARM_UP_SHARE = 0.2
TBF_BURST_BYTES = 3_000  # two packets: the least that a token bucket sends at once

Stages = list[dict[str, Any]]


def measure() -> dict[str, Any]:
    """Everything, in about half a minute."""
    results: dict[str, Any] = {
        "delay_error_us": {
            "link_without_stages": _delay_error([], 0),
            "packet": _delay_error(_delay(), DELAY_NS),
            "packet_spin_100us": _delay_error(_delay(), DELAY_NS, arguments=["--spin-us", "100"]),
            "tun": _delay_error(_delay(), DELAY_NS, path=TUN),
        },
        "delay_load": f"{DELAY_PACKETS_PER_S} packets/s of {DELAY_SIZE_BYTES} bytes, {DELAY_NS // 1_000_000} ms link",
        "rate_error_percent": {
            f"{mbit}_mbit": {"longlook": _rate_error(mbit), "kernel_tbf": _tbf_error(mbit)} for mbit in (10, 100)
        },
        "peers": {"netem": _netem()},
        "link_core": _decisions(),
    }
    return results


def _config(up: Stages) -> dict[str, Any]:
    return {"version": 2, "seed": 1, "linger_ns": 50_000_000, "up": up, "down": []}


def _delay() -> Stages:
    return [{"kind": "delay", "parameters": {"delay_ns": DELAY_NS}}]


def _delay_error(
    stages: Stages, expected_ns: int, path: str = PACKET, arguments: Sequence[str] = ()
) -> dict[str, float]:
    """Send stamp to kernel receive stamp, less the delay that was asked for; the sender's own system call is in it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LinkBed(Path(folder), _config(stages), path, arguments) as bed,
        Sink(bed.server) as sink,
        Source(bed.client) as source,
    ):
        gc.disable()
        source.send(DELAY_PACKETS, DELAY_PACKETS_PER_S, DELAY_SIZE_BYTES)
        gc.enable()
        sink.wait_for(DELAY_PACKETS, 1.0)
        (summary,) = bed.stop()
    warm = sink.arrivals[50:]
    error_us = np.array([arrival.received_ns - arrival.sent_ns - expected_ns for arrival in warm]) / 1e3
    p50, p99, p999 = np.percentile(error_us, [50, 99, 99.9])
    return {
        "p50": round(float(p50), 1),
        "p99": round(float(p99), 1),
        "p99_9": round(float(p999), 1),
        "max": round(float(error_us.max()), 1),
        "router_cpu_share": round(summary["guard"]["cpu_ns"] / 1e9 / (DELAY_PACKETS / DELAY_PACKETS_PER_S), 3),
    }


def _saturate(bed: LinkBed, mbit: int) -> list[Arrival]:
    """Send at twice the rate of the link, so that it never waits for the sender."""
    packets_per_s = mbit * 1e6 / 8 / FULL_BYTES
    count = int(packets_per_s * SATURATED_S)
    with Sink(bed.server) as sink, Source(bed.client) as source:
        source.send(count, packets_per_s * 2, FULL_BYTES)
        sink.wait_for(count, SATURATED_S * 2)
    return sink.arrivals[int(len(sink.arrivals) * WARM_UP_SHARE) :]


def _rate_error(mbit: int) -> dict[str, float]:
    queue_bytes = int(mbit * 1e6 / 8 * SATURATED_S)
    stages = [{"kind": "rate", "parameters": {"rate_bps": mbit * 1_000_000, "queue_bytes": queue_bytes}}]
    with tempfile.TemporaryDirectory() as folder, LinkBed(Path(folder), _config(stages)) as bed:
        return _error_of(_saturate(bed, mbit), mbit, extra_bytes=0)


def _tbf_error(mbit: int) -> dict[str, float] | str:
    """The kernel's token bucket at the client's device, the emulator passing packets on; it counts Ethernet frames."""
    with tempfile.TemporaryDirectory() as folder, LinkBed(Path(folder), _config([])) as bed:
        client = bed.client.namespace
        index = client.index(bed.client.end.device)
        limit_bytes = int(mbit * 1e6 / 8 * SATURATED_S * 1.1)
        try:
            client.netlink.tc("add", "tbf", index, rate=f"{mbit}mbit", burst=TBF_BURST_BYTES, limit=limit_bytes)
        except NetlinkError as error:
            return f"not available: {error}"
        return _error_of(_saturate(bed, mbit), mbit, extra_bytes=ETHERNET_BYTES)


def _error_of(arrivals: Sequence[Arrival], mbit: int, extra_bytes: int) -> dict[str, float]:
    measured_bps = rate_bps(arrivals, extra_bytes)
    gap_us = np.diff([arrival.received_ns for arrival in arrivals]) / 1e3
    ideal_us = (FULL_BYTES + extra_bytes) * 8 / mbit
    return {
        "rate_error_percent": round((measured_bps / (mbit * 1e6) - 1) * 100, 4) + 0.0,
        "spacing_error_us_p50": round(float(np.percentile(np.abs(gap_us - ideal_us), 50)), 1),
        "spacing_error_us_p99": round(float(np.percentile(np.abs(gap_us - ideal_us), 99)), 1),
    }


def _netem() -> str:
    with tempfile.TemporaryDirectory() as folder, LinkBed(Path(folder), _config([])) as bed:
        client = bed.client.namespace
        try:
            client.netlink.tc("add", "netem", client.index(bed.client.end.device), delay=DELAY_NS // 1_000)
        except NetlinkError as error:
            return f"not available in this kernel, so not compared: {error}"
    return "available, not compared yet"


def _decisions() -> dict[str, Any]:
    command = ["cargo", "run", "--quiet", "--release", "--package", "longlook-link-core", "--example", "decisions"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    """Print the results: as one JSON object, or indented for reading."""
    results = measure()
    print(json.dumps(results) if "--json" in sys.argv[1:] else json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
