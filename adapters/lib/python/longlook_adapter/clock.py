"""Nanoseconds since 1970 from the monotonic clock, anchored once, so that differences never jump."""

import time


def _anchor_ns() -> int:
    """Return the Unix time at which the monotonic clock read zero, from two readings around it."""
    before_ns = time.monotonic_ns()
    unix_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    return unix_ns - (before_ns + after_ns) // 2


_ANCHOR_NS = _anchor_ns()


def now_ns() -> int:
    """Return the time now."""
    return _ANCHOR_NS + time.monotonic_ns()


def unix_ns(monotonic_s: float | None) -> int | None:
    """Translate a time of the monotonic clock in seconds, as browsers report it; None stays None."""
    return None if monotonic_s is None else _ANCHOR_NS + round(monotonic_s * 1e9)
