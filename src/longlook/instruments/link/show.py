"""A run of `longlook link` on the terminal: two lines before, a summary after, and JSON on request."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longlook.core import print_bytes
from longlook.instruments.link.lateness import Lateness, LatenessCounter
from longlook.instruments.link.options import Emulation
from longlook.instruments.link.run import LinkRequest, Opened, run_link

_READ_BYTES = 1 << 20


class LinkDisplay:
    """Run one request and show it on standard error; standard output belongs to the command."""

    def __init__(self, emulation: Emulation, request: LinkRequest, *, json_file: str | None, quiet: bool) -> None:
        self._emulation = emulation
        self._request = request
        self._json_file = json_file
        self._quiet = quiet
        self._opened: Opened | None = None

    def run(self) -> int:
        """Return the command's exit code; raise LonglookError if the link could not be opened, or broke."""
        lateness = LatenessCounter()
        ended = run_link(self._request, self._open, lateness.add)
        if self._request.log is not None:
            with self._request.log.open("rb") as file:
                while piece := file.read(_READ_BYTES):
                    lateness.add(piece)
        summary = summarise(ended.summary, lateness.result(), ended.duration_s, ended.exit_code)
        if not self._quiet:
            self._print(*summary_lines(summary))
            self._print(
                f"  seed {self._request.seed}" + (f", packets in {self._request.log}" if self._request.log else "")
            )
        if self._json_file is not None:
            error = {"reason": ended.error.message, "hint": ended.error.hint} if ended.error else None
            known = {
                "settings": dict(self._emulation.settings),
                "seed": self._request.seed,
                "command": list(self._request.command),
                "addresses": {"client": self._opened.client, "far": self._opened.far} if self._opened else None,
                "notes": list(self._opened.notes) if self._opened else [],
                "log": str(self._request.log) if self._request.log else None,
                "error": error,
            }
            self._write({**known, **summary})
        if ended.error is not None:
            raise ended.error
        return ended.exit_code

    def _open(self, opened: Opened) -> None:
        self._opened = opened
        if self._quiet:
            return
        self._print(self._emulation.shown)
        self._print(f"  {opened.what} at {opened.far}; the command at {opened.client}")
        self._print(*(f"  {note}" for note in opened.notes))

    def _write(self, summary: dict[str, object]) -> None:
        text = json.dumps(summary, allow_nan=False)
        if self._json_file == "-":
            sys.stderr.write(text + "\n")
        else:
            Path(str(self._json_file)).write_text(text + "\n")

    @staticmethod
    def _print(*lines: str) -> None:
        with suppress(BrokenPipeError):  # there is no reader; only the command's own end matters
            for line in lines:
                sys.stderr.write(line + "\n" if line.startswith(" ") else f"longlook link: {line}\n")
            sys.stderr.flush()


_DIRECTIONS = ("up", "down")
_LATE_SHARE, _LATE_PACKETS, _GAP_MS = 0.001, 5, 10.0  # those of the laboratory's guard (docs/explanation/lab.md)


def summarise(
    router: Mapping[str, Any],
    lateness: Lateness | None,
    duration_s: float,
    exit_code: int,
) -> dict[str, Any]:
    """Return the router's counters with rates, lateness and doubts.

    A rate is the bits delivered over the command's whole time. `lateness` is None if no packet left. `disturbed` is
    whether the link was not what was asked for: any doubt but a missing priority, which alone delays nothing.
    """
    summary: dict[str, Any] = {"exit_code": exit_code, "duration_s": round(duration_s, 6)}
    for name in _DIRECTIONS:
        counters = dict(router.get(name, {}))
        counters["mean_rate_bps"] = round(8 * counters.get("delivered_bytes", 0) / duration_s) if duration_s > 0 else 0
        summary[name] = counters
    summary["guard"] = dict(router.get("guard", {}))
    summary["lateness"] = asdict(lateness) if lateness is not None else None
    disturbed = list(_disturbances(summary)) if router else ["the router ended without its counters"]
    summary["disturbed"] = bool(disturbed)
    summary["doubts"] = [*([] if summary["guard"].get("fifo") or not router else [_NO_PRIORITY]), *disturbed]
    return summary


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the summary as lines for people."""
    lines = [f"{summary['duration_s']:.2f} s behind the link, exit code {summary['exit_code']}"]
    lines += [f"  {name:<5}{_direction(summary[name])}" for name in _DIRECTIONS]
    lines.append(f"  {_timing(summary)}")
    lines += [f"  ! {doubt}" for doubt in summary["doubts"]]
    return lines


def dropped_by(counters: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of drops by reason, without reasons that did not occur."""
    return {
        name.removeprefix("dropped_"): int(number)
        for name, number in counters.items()
        if name.startswith("dropped_") and number
    }


def _direction(counters: Mapping[str, Any]) -> str:
    dropped = dropped_by(counters)
    parts = [
        f"{counters.get('delivered', 0):,} of {_packets(counters.get('arrived', 0) + counters.get('copied', 0))}",
        f"{print_bytes(counters.get('delivered_bytes', 0))} at {_rate(counters['mean_rate_bps'])}",
    ]
    if dropped:
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in dropped.items())
        parts.append(f"dropped {sum(dropped.values()):,} ({reasons})")
    if named := counters.get("surgery_named"):
        done = [f"{counters.get(f'surgery_{what}', 0):,} {what}" for what in ("forgiven", "held")]
        done.insert(1, f"{counters.get('dropped_surgery', 0):,} dropped")
        parts.append(f"surgery on {_packets(named)}: {', '.join(done)}")
    if counters.get("queued"):
        parts.append(f"{counters['queued']:,} still in flight")
    if counters.get("max_queue_bytes"):
        parts.append(f"queue at most {print_bytes(counters['max_queue_bytes'])}")
    return ", ".join(parts)


def _timing(summary: Mapping[str, Any]) -> str:
    guard, lateness = summary["guard"], summary["lateness"]
    parts = []
    if lateness is not None:
        p50, p99, latest = (lateness[name] / 1e3 for name in ("p50_ns", "p99_ns", "max_ns"))
        parts.append(f"packets left {p50:.0f} µs (half), {p99:.0f} µs (99 %), at most {latest:.0f} µs late")
    if guard:
        parts.append(f"longest gap {guard.get('max_gap_ns', 0) / 1e6:.2f} ms")
        if guard.get("fifo"):
            parts.append("real-time priority")
    return ", ".join(parts) or "no packet left"


_NO_PRIORITY = (
    "no real-time priority: packets leave late, at times by milliseconds, whenever others need the CPU; "
    "longlook doctor shows how to allow it"
)


def _disturbances(summary: Mapping[str, Any]) -> Iterator[str]:
    guard = summary["guard"]
    delivered = sum(summary[name].get("delivered", 0) for name in _DIRECTIONS)
    late = sum(summary[name].get("late_over_1ms", 0) for name in _DIRECTIONS)
    if late > _LATE_PACKETS and late > _LATE_SHARE * delivered:
        yield f"{late:,} of {_packets(delivered)} left more than 1 ms late: the machine is too busy for this link"
    if (gap_ms := guard.get("max_gap_ns", 0) / 1e6) > _GAP_MS:
        yield f"the link stood still for {gap_ms:.1f} ms"
    if guard.get("ring_drops"):
        yield f"{_packets(guard['ring_drops'])} never reached the link: the machine is too busy for this rate"
    if guard.get("log_lost"):
        yield f"the packet log lacks {guard['log_lost']:,} records"
    if large := sum(summary[name].get("dropped_oversize", 0) for name in _DIRECTIONS):
        yield f"{_packets(large)} too large for the MTU: an offload was turned on while the link was open"
    if many := sum(summary[name].get("dropped_overflow", 0) for name in _DIRECTIONS):
        yield f"there was no room for {_packets(many)}: use less delay at this rate, or a shorter queue"


def _packets(number: int) -> str:
    return f"{number:,} packet{'' if number == 1 else 's'}"


def _rate(bps: int) -> str:
    unit, scale = next(
        (unit, scale)
        for unit, scale in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3), ("bit/s", 1))
        if bps >= scale or scale == 1
    )
    return f"{bps / scale:.3g} {unit}"
