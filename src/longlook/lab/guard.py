"""The validity guard: finds what disturbed a measurement so much that its result cannot be trusted.

Pure: nothing here touches the machine or imports `lab.linux`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_QUIET = "quiet the machine: end other work, or give it more cores; the trial is tried again"


@dataclass(frozen=True)
class CounterReading:
    """Counters at one moment; the difference of two is judged. Ticks are the kernel's, of 10 ms."""

    monotonic_s: float
    busy_ticks: int  # all CPUs, without steal
    idle_ticks: int
    steal_ticks: int
    dropped: int  # packets lost on both sides outside the router
    udp_errors: int  # datagrams that both endpoints received and dropped because a buffer was full
    cpu_mhz: float = 0.0  # with a share of a CPU: lowest frequency of those that are to keep theirs; 0 where none is


@dataclass(frozen=True)
class Thresholds:
    """The limits beyond which a trial is invalid. docs/explanation/lab.md gives the measurements behind the numbers.

    A share alone would reject a short transfer for one late packet, so each share has a count below which it is
    ignored. CPU shares are read only over intervals long enough for the kernel's ticks of 10 ms. Busy CPUs do not
    matter to a trial that needs little of them, and a program that fills them alone is the cause of its own slowness.
    """

    late_share: float = 0.001  # of delivered packets, more than 1 ms late …
    late_packets: int = 5  # … and more than this many
    max_gap_ms: float = 10.0  # the router was not run for this long while packets waited
    steal_share: float = 0.05  # of all CPU time, taken by other machines …
    busy_share: float = 0.98  # of all CPU time, used by anything here …
    own_share: float = 0.25  # … while the trial's own programs used more than this of all CPU time …
    other_share: float = 0.25  # … and others more than this …
    cpu_interval_s: float = 0.2  # … over at least this long
    dropped: int = 0  # packets lost outside the link
    udp_errors: float = 0  # datagrams that the kernel dropped because a receive buffer was full
    ring_drops: int = 0  # packets the router never saw
    frequency_change: float = math.inf  # share by which the CPUs' frequency differs before and after


def limits(*, limited_client: bool) -> Thresholds:
    """Return the thresholds of a trial.

    With a CPU-limited client, an overflow of its receive buffer is part of the result, as it is on a phone, and not a
    reason to reject the trial. Its share of a CPU is worth less if the CPU's frequency falls.
    """
    return Thresholds(udp_errors=math.inf, frequency_change=0.1) if limited_client else Thresholds()


@dataclass(frozen=True)
class GuardFinding:
    """One reason why a measurement is invalid, and what to do about it."""

    reason: str
    hint: str


def observe(
    before: CounterReading, after: CounterReading, summary: Mapping[str, Any], own_cpu_s: float = 0.0
) -> dict[str, float]:
    """Return the guard's numbers of one trial, from the readings around it and the router's summary line.

    `own_cpu_s` are the CPU seconds of the trial's programs, divided by the number of CPUs. Counts of packets come as
    floats; shares are between 0 and 1, and 0 if there was nothing to divide by.
    """
    interval_s = after.monotonic_s - before.monotonic_s
    busy, idle, steal = (
        after.busy_ticks - before.busy_ticks,
        after.idle_ticks - before.idle_ticks,
        after.steal_ticks - before.steal_ticks,
    )
    ticks = max(busy + idle + steal, 1)
    directions = [summary.get(name, {}) for name in ("up", "down")]
    delivered = sum(counters.get("delivered", 0) for counters in directions)
    late = sum(counters.get("late_over_1ms", 0) for counters in directions)
    router = summary.get("guard", {})
    return {
        "late_packets": float(late),
        "late_share": late / delivered if delivered else 0.0,
        "max_gap_ms": router.get("max_gap_ns", 0) / 1e6,
        "max_late_ms": router.get("max_late_ns", 0) / 1e6,
        "ring_drops": float(router.get("ring_drops", 0)),
        "oversize": float(sum(counters.get("dropped_oversize", 0) for counters in directions)),
        "overflow": float(sum(counters.get("dropped_overflow", 0) for counters in directions)),
        "unfinished_checksums": float(router.get("unfinished_checksums", 0)),
        "log_lost": float(router.get("log_lost", 0)),
        "unaccounted": float(sum(_unaccounted(counters) for counters in directions)),
        "fifo": float(router.get("fifo", 0)),
        "steal_share": steal / ticks,
        "busy_share": busy / ticks,
        "own_share": own_cpu_s / interval_s if interval_s > 0 else 0.0,
        "interval_s": interval_s,
        "dropped_outside": float(after.dropped - before.dropped),
        "udp_errors": float(after.udp_errors - before.udp_errors),
        **({"cpu_mhz": after.cpu_mhz, "cpu_mhz_before": before.cpu_mhz} if before.cpu_mhz and after.cpu_mhz else {}),
    }


def together(summaries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the summary lines of a trial's links as one: counts are sums, times the longest; {} if one is missing."""
    if len(summaries) == 1 or not all(summaries):
        return summaries[0] if len(summaries) == 1 else {}
    joined: dict[str, Any] = {}
    for part in ("up", "down", "guard"):
        parts = [summary.get(part, {}) for summary in summaries]
        joined[part] = {
            name: _JOINED.get(name, sum)([each.get(name, 0) for each in parts]) for each in parts for name in each
        }
    return joined


_JOINED: Mapping[str, Callable[[list[int]], int]] = {
    "max_gap_ns": max,
    "max_late_ns": max,
    "max_queue_bytes": max,
    "fifo": min,
}
"""How the numbers of several links become one, if not by their sum."""


def findings(observed: Mapping[str, float], limits: Thresholds = Thresholds()) -> list[GuardFinding]:
    """Return a finding for each limit that was exceeded, the most informative first; none for a valid measurement."""
    return [*_losses(observed, limits), *_router_lateness(observed, limits), *_processor(observed, limits)]


def _losses(observed: Mapping[str, float], limits: Thresholds) -> Iterator[GuardFinding]:
    if observed["unaccounted"]:
        yield GuardFinding(
            f"the router's packet counters do not add up: {observed['unaccounted']:.0f} packets are unaccounted for",
            "this is a bug of longlook-link: keep link.bin and report it",
        )
    if observed["ring_drops"] > limits.ring_drops:
        yield GuardFinding(f"the router missed {observed['ring_drops']:.0f} packets", _QUIET)
    if observed["overflow"]:
        yield GuardFinding(
            f"the router's own buffer had no room for {observed['overflow']:.0f} packets",
            "use less delay at this rate, or a shorter queue",
        )
    if observed["log_lost"]:
        yield GuardFinding(f"the packet log lacks {observed['log_lost']:.0f} records", "put the run on a faster disk")
    if offloaded := observed["oversize"] + observed["unfinished_checksums"]:
        yield GuardFinding(
            f"{offloaded:.0f} packets were larger than the MTU or lacked their checksum: an offload is on",
            "do not change the laboratory's devices, or use another kernel",
        )
    if observed["dropped_outside"] > limits.dropped:
        yield GuardFinding(f"{observed['dropped_outside']:.0f} packets were lost outside the link", _QUIET)
    if observed["udp_errors"] > limits.udp_errors:
        yield GuardFinding(
            f"the kernel dropped {observed['udp_errors']:.0f} received datagrams because a buffer was full",
            "raise the host's limit: sysctl -w net.core.rmem_max=16777216",
        )


def _router_lateness(observed: Mapping[str, float], limits: Thresholds) -> Iterator[GuardFinding]:
    fifo = "" if observed["fifo"] else "; the router has no real-time priority here (longlook doctor)"
    if observed["late_share"] > limits.late_share and observed["late_packets"] > limits.late_packets:
        yield GuardFinding(
            f"{observed['late_packets']:.0f} packets ({observed['late_share']:.2%}) left the link more than 1 ms late",
            _QUIET + fifo,
        )
    if observed["max_gap_ms"] > limits.max_gap_ms:
        yield GuardFinding(f"the router did not run for {observed['max_gap_ms']:.1f} ms", _QUIET + fifo)


def _processor(observed: Mapping[str, float], limits: Thresholds) -> Iterator[GuardFinding]:
    if before := observed.get("cpu_mhz_before"):
        after = observed["cpu_mhz"]
        if abs(after / before - 1) > limits.frequency_change:
            yield GuardFinding(
                f"the CPUs ran at {before:.0f} MHz before and at {after:.0f} MHz after: a share of one is not the same",
                "cool the machine, or limit its frequency (cpupower frequency-set -u); the trial is tried again",
            )
    if observed["interval_s"] < limits.cpu_interval_s:
        return
    if observed["steal_share"] > limits.steal_share:
        yield GuardFinding(
            f"other machines on this host took {observed['steal_share']:.1%} of the CPU time",
            "use a dedicated machine, or a quieter hour; the trial is tried again",
        )
    own, other = observed["own_share"], observed["busy_share"] - observed["own_share"]
    if observed["busy_share"] > limits.busy_share and own > limits.own_share and other > limits.other_share:
        yield GuardFinding(
            f"the CPUs were busy {observed['busy_share']:.1%} of the time, {other:.1%} with other work",
            _QUIET,
        )


def _unaccounted(counters: Mapping[str, int]) -> int:
    dropped = sum(number for name, number in counters.items() if name.startswith("dropped_"))
    came = counters.get("arrived", 0) + counters.get("copied", 0)
    return came - counters.get("delivered", 0) - counters.get("queued", 0) - dropped
