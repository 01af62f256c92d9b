"""Whether a trace made of a table can be a path: rates, delays, losses and lengths of its rows against bounds. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

FASTEST_BPS = 10e9
"""The rate above which no path of a drive test, a home or a phone is."""
SLOWEST_MEDIAN_BPS = 10e3
LONGEST_DELAY_NS = 10e9
LARGEST_LOSS = 0.5
SHORTEST_ROW_US, LONGEST_ROW_US = 1_000, 3_600_000_000
GAP = 5
"""A row that lasts longer than this many times the median stands for rows that are missing."""


@dataclass(frozen=True)
class Line:
    """One line of the trace: how long it lasts, its delay of one way, its rate and its share of lost packets."""

    lasts_us: int
    delay_ns: int
    rate_bps: int
    loss: float


@dataclass(frozen=True)
class Contradiction:
    """A row's contradiction, or a value that is likely not meant, under the name of its check."""

    check: str
    problem: str


def contradictions(lines: Sequence[Line]) -> Iterator[Contradiction]:
    """Yield what no measured path has, and what rows are missing; `lines` are one or more."""
    rate_bps = median(line.rate_bps for line in lines)
    if rate_bps > FASTEST_BPS:
        problem = f"half of the rates are above {rate_bps / 1e9:g} Gbit/s: is the unit of --rate right?"
        yield Contradiction("rate_too_high", problem)
    elif rate_bps < SLOWEST_MEDIAN_BPS:
        problem = f"half of the rates are below {rate_bps / 1e3:g} kbit/s: is the unit of --rate right?"
        yield Contradiction("rate_too_low", problem)
    delay_ns = median(line.delay_ns for line in lines)
    if delay_ns > LONGEST_DELAY_NS:
        problem = f"half of the delays are above {delay_ns / 1e9:g} s each way: is the unit of --rtt or --delay right?"
        yield Contradiction("delay_too_long", problem)
    loss = sum(line.loss for line in lines) / len(lines)
    if loss > LARGEST_LOSS:
        yield Contradiction("loss_too_high", f"{loss:.0%} of packets are lost: is the unit of --loss right?")
    row_us = median(line.lasts_us for line in lines)
    if not SHORTEST_ROW_US <= row_us <= LONGEST_ROW_US:
        yield Contradiction("row_length", f"half of the rows last {row_us / 1e6:g} s: is the unit of their time right?")
    gaps = [line.lasts_us for line in lines[:-1] if line.lasts_us > GAP * row_us]
    if gaps:
        problem = (
            f"{len(gaps)} rows last {GAP} times as long as most or longer, up to {max(gaps) / 1e6:g} s: "
            "rows are missing, and the one before lasts on"
        )
        yield Contradiction("gaps", problem)
