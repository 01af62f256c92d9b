"""Chromium's clock as nanoseconds since 1970.

Every timestamp of the DevTools protocol is CLOCK_MONOTONIC in seconds, the clock that Python reads too, so one anchor
taken at the program's start translates all of them and differences never jump.
"""

import time
from dataclasses import dataclass, field


def _anchor_ns() -> int:
    before_ns = time.monotonic_ns()
    unix_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    return unix_ns - (before_ns + after_ns) // 2


@dataclass(frozen=True)
class Clock:
    """`anchor_ns` is the Unix time at which the monotonic clock read zero."""

    anchor_ns: int = field(default_factory=_anchor_ns)

    def unix_ns(self, monotonic_s: float | None) -> int | None:
        """Nanoseconds since 1970 of a DevTools timestamp; what is missing stays missing."""
        return None if monotonic_s is None else self.anchor_ns + round(monotonic_s * 1e9)
