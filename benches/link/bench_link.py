"""The link emulator from outside, beside its peers in the same run: delay error, rate error, spacing, throughput.

`python -m benches link`, or `python -m benches.link.bench_link ROUNDS` for the results alone, with `rates` or `streams`
behind it for the shaped or the unshaped links alone. It needs root or user namespaces, and cargo. Rounds alternate
between the ways, so that a drift of the machine meets all of them; each number is the median of its rounds. `busy`: a
program that never waits runs on each CPU, at normal priority.
"""

import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benches.link.ways import (
    BRIDGE,
    DELAY_MS,
    DELAY_PACKETS_PER_S,
    FORMERS,
    FULL_BYTES,
    OURS,
    PEERS,
    SMALL_BYTES,
    TBF,
    Way,
    delayed,
    saturated,
    spinning,
    streamed,
)
from longlook.core import LonglookError
from longlook.lab import TUN, NetlinkError
from longlook.lab.topology import OFFLOAD

ROOT = Path(__file__).resolve().parents[2]
DELAY_PACKETS, WARM_UP_PACKETS = 4_000, 50
RATES_MBIT, SATURATED_S, WARM_UP_SHARE = (10, 100, 500, 1000, 2500), 1.5, 0.2
STREAM_S = 4.0
_SATURATES = 1.05  # times the link's rate: what must have been sent for the link to have had no rest
SATURATED_WAYS = (
    Way("packet", options=spinning(100)),
    Way("tun", TUN, spinning(100)),
    Way("offload", OFFLOAD, spinning(100)),
    TBF,
    *PEERS,
)
STREAMED_WAYS = (Way("packet"), Way("tun", TUN), Way("offload", OFFLOAD), BRIDGE, *FORMERS, *PEERS)
TARGETS = {
    "delay_error_us": {"quiet": {"p50": 5, "p99": 15}, "busy": {"p50": 15, "p99": 50}},
    "rate_error_percent": {"up to 100 Mbit/s": 0.01, "1 Gbit/s": 0.05, "2.5 Gbit/s": 0.1},
    "spacing_error_us_p99 at 100 Mbit/s": 60,
    "unshaped_tcp_gbit_s": 4.5,
    "decisions_per_s": 10_000_000,
}

Numbers = dict[str, float]


def measure(rounds: int = 3) -> dict[str, Any]:
    """Run all measurements and return them; each round takes about four minutes."""
    found: dict[str, Any] = {
        "delay_load": f"{DELAY_PACKETS_PER_S} packets/s of {SMALL_BYTES} bytes, {DELAY_MS} ms link",
        "rounds": rounds,
        "quiet": _condition(rounds),
    }
    with _busy_cpus():
        found["busy"] = _condition(rounds)
    found["link_core"] = _decisions()
    found["targets"] = TARGETS
    return found


def _condition(rounds: int) -> dict[str, Any]:
    load_before = os.getloadavg()[0]
    bare = Way("no stages", options=spinning(100))
    delays = _alternate(
        rounds,
        {
            bare.name: partial(_delay_error, bare, 0),
            **{way.name: partial(_delay_error, way, DELAY_MS) for way in (*OURS, *PEERS)},
        },
    )
    return {
        "load_before": load_before,
        "delay_error_us": delays,
        "delay_error_p99_ratio_to_packet": _ratios(delays, "packet, spin 100 us", "p99"),
        "saturated": measure_rates(rounds),
        "streams": measure_streams(rounds),
    }


def measure_rates(rounds: int) -> dict[str, Any]:
    """Return the errors of rate and spacing of links that carry less than is sent."""
    return {
        f"{mbit} Mbit/s": _alternate(rounds, {way.name: partial(_rate_error, way, mbit) for way in SATURATED_WAYS})
        for mbit in RATES_MBIT
    }


def measure_streams(rounds: int) -> dict[str, Any]:
    """Return the throughput of one TCP connection through links that do nothing, and its ratio to AF_PACKET's."""
    load_before = os.getloadavg()[0]
    streams = _alternate(rounds, {way.name: partial(_stream, way) for way in STREAMED_WAYS})
    return {
        "load_before": load_before,
        "unshaped_tcp": streams,
        "ratio_to_packet": _ratios(streams, "packet", "gbit_s"),
    }


def _alternate(rounds: int, measurements: dict[str, Callable[[], Numbers]]) -> dict[str, Numbers | str]:
    """Return the medians of each measurement, or why it could not be made."""
    values: dict[str, list[Numbers]] = defaultdict(list)
    failures: dict[str, str] = {}
    for number in range(rounds):
        order = list(measurements) if number % 2 == 0 else list(reversed(measurements))
        for name in order:
            try:
                values[name].append(measurements[name]())
            except (LonglookError, NetlinkError, OSError, subprocess.SubprocessError) as error:
                failures[name] = f"not measured: {error}"
    return {
        name: {key: round(statistics.median(one[key] for one in values[name]), 4) + 0.0 for key in values[name][0]}
        if values[name]
        else failures[name]
        for name in measurements
    }


def _ratios(found: dict[str, Numbers | str], reference: str, key: str) -> dict[str, float]:
    own = found[reference]
    if isinstance(own, str):
        return {}
    return {
        name: round(numbers[key] / own[key], 2)
        for name, numbers in found.items()
        if not isinstance(numbers, str) and name != reference
    }


def _delay_error(way: Way, delay_ms: int) -> Numbers:
    """Return the time from send stamp to kernel receive stamp, less the set delay; the send call is part of it."""
    arrivals = delayed(way, DELAY_PACKETS, delay_ms)[WARM_UP_PACKETS:]
    spent_ns = arrivals["received_ns"].astype(np.int64) - arrivals["sent_ns"].astype(np.int64)
    error_us = (spent_ns - delay_ms * 1_000_000) / 1e3
    p50, p99, p999 = np.percentile(error_us, [50, 99, 99.9])
    return {"p50": float(p50), "p99": float(p99), "p99_9": float(p999), "max": float(error_us.max())}


def _rate_error(way: Way, mbit: int) -> Numbers:
    arrivals = saturated(way, mbit, SATURATED_S)
    arrivals = arrivals[int(len(arrivals) * WARM_UP_SHARE) :]
    if len(arrivals) < 2:
        raise OSError("nothing came through")
    sent_s = float(arrivals["sent_ns"].max() - arrivals["sent_ns"].min()) / 1e9
    if len(arrivals) * FULL_BYTES * 8 / sent_s < mbit * 1e6 * _SATURATES:
        raise OSError(f"the sender did not keep up: it sent for {sent_s:.2f} s")
    size_bytes = FULL_BYTES + way.extra_bytes
    received_ns = arrivals["received_ns"].astype(np.int64)
    measured_bps = size_bytes * 8e9 * (len(arrivals) - 1) / int(received_ns[-1] - received_ns[0])
    error_us = np.abs(np.diff(received_ns) / 1e3 - size_bytes * 8 / mbit)
    return {
        "rate_error_percent": (measured_bps / (mbit * 1e6) - 1) * 100,
        "spacing_error_us_p50": float(np.percentile(error_us, 50)),
        "spacing_error_us_p99": float(np.percentile(error_us, 99)),
    }


def _stream(way: Way) -> Numbers:
    return {"gbit_s": streamed(way, STREAM_S) / 1e9}


@contextmanager
def _busy_cpus() -> Iterator[None]:
    programs = []
    try:
        for cpu in sorted(os.sched_getaffinity(0)):
            programs.append(subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _decisions() -> dict[str, Any]:
    command = ["cargo", "run", "--quiet", "--release", "--package", "longlook-link-core", "--example", "decisions"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    """Print the results as JSON."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    parts = {(): measure, ("rates",): measure_rates, ("streams",): measure_streams}
    if tuple(sys.argv[2:]) not in parts:
        print("usage: python -m benches.link.bench_link [ROUNDS [rates | streams]]", file=sys.stderr)
        return 2
    print(json.dumps(parts[tuple(sys.argv[2:])](rounds), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
