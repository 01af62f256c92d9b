"""The links of the checks: plain ones, whose laws are known, so that what is seen is the stack's doing."""

from longlook.core.model import Link, Stage


def path(
    rate_mbps: float,
    rtt_s: float,
    queue_bytes: int = 4_000_000,
    *,
    up: tuple[Stage, ...] = (),
    down: tuple[Stage, ...] = (),
    behind: tuple[Stage, ...] = (),
) -> Link:
    """Rate and queue, then half of the round trip, both ways alike.

    `up` and `down` come before the rate of their direction, `behind` after the delay of `down`.
    """
    common = (
        Stage("rate", {"rate_bps": round(rate_mbps * 1e6), "queue_bytes": queue_bytes}),
        Stage("delay", {"delay_ns": round(rtt_s * 1e9 / 2)}),
    )
    return Link(up=(*up, *common), down=(*down, *common, *behind))


def usual() -> Link:
    """Where nothing is special: 20 Mbit/s and 40 ms."""
    return path(20, 0.04, 100_000)
