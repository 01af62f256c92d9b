"""A long trace from a short real one: its events again and again, times and packet numbers moved on."""

import re
from pathlib import Path

_TIME = re.compile(rb'"time":([0-9.]+)')
_NUMBER = re.compile(rb'"packet_number":(\d+)')
_RANGES = re.compile(rb'"acked_ranges":\[\[[^"]*?\]\]')
_DIGITS = re.compile(rb"\d+")


def write_long_trace(lines: bytes, out: Path, least_bytes: int) -> int:
    """Repeat a sequence of events (header first) until `out` is at least so long; its size in bytes."""
    header, *events = lines.splitlines(keepends=True)
    span_ms = max(float(found[1]) for found in map(_TIME.search, events) if found) + 1
    numbers = max(int(number) for number in _NUMBER.findall(lines)) + 1
    written = 0
    with out.open("wb") as file:
        written += file.write(header)
        for turn in range(least_bytes):
            for event in events:
                written += file.write(_moved(event, turn * span_ms, turn * numbers))
            if written >= least_bytes:
                break
    return written


def _moved(event: bytes, by_ms: float, by_numbers: int) -> bytes:
    if not by_numbers:
        return event
    event = _TIME.sub(lambda found: b'"time":%.6f' % (float(found[1]) + by_ms), event, count=1)
    event = _NUMBER.sub(lambda found: b'"packet_number":%d' % (int(found[1]) + by_numbers), event)
    moved = lambda digits: b"%d" % (int(digits[0]) + by_numbers)  # noqa: E731
    return _RANGES.sub(lambda found: _DIGITS.sub(moved, found[0]), event)
