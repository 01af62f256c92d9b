"""The links of the checks: simple ones whose behaviour is known, so that differences come from the stack."""

from longlook.core import Link, Stage

USUAL_RTT_S = 0.04


def path(
    rate_mbps: float,
    rtt_s: float,
    queue_bytes: int = 4_000_000,
    *,
    up: tuple[Stage, ...] = (),
    down: tuple[Stage, ...] = (),
    behind: tuple[Stage, ...] = (),
) -> Link:
    """Return a link with a rate, a queue and half of the round trip in each direction.

    The stages `up` and `down` come before the rate of their direction, `behind` after the delay of `down`.
    """
    common = (
        Stage("rate", {"rate_bps": round(rate_mbps * 1e6), "queue_bytes": queue_bytes}),
        Stage("delay", {"delay_ns": round(rtt_s * 1e9 / 2)}),
    )
    return Link(up=(*up, *common), down=(*down, *common, *behind))


def usual() -> Link:
    """Return the link of checks that need no particular one: 20 Mbit/s and 40 ms."""
    return path(20, USUAL_RTT_S, 100_000)
