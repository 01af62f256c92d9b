"""Nanoseconds since 1970 from the monotonic clock, anchored once, so that differences never jump."""

import time

_ANCHOR_NS = time.time_ns() - time.monotonic_ns()


def now_ns() -> int:
    """What it is now."""
    return _ANCHOR_NS + time.monotonic_ns()
