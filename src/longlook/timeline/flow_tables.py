"""A competition as tables: one row for each flow, and the rate of each over time. Pure."""

from typing import Any

import numpy as np

from longlook.timeline.competition import Competition, Numbers

FLOW_COLUMNS = (
    *("flow", "group", "cross", "began_s", "ended_s", "rate_mbps", "goodput_mbps", "share_pct", "loss_pct"),
    "repeated_pct",
)
"""Times are since the trial's start. The other columns cover the window in which all flows competed and are null
without one. The share is of what all competing flows got, null for cross traffic.
`repeated_pct` is of TCP's payload that reached the
link, null for other flows."""
RATE_COLUMNS = ("flow", "group", "time_s", "mbps", "link_mbps")
"""Columns of bins from the first flow's start; `time_s` is a bin's beginning. `link_mbps` is the link's capacity,
null if unknown.
"""

BINS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
MOST_BINS = 240

Columns = dict[str, list[Any]]


def flow_columns(competition: Competition) -> Columns:
    """Return one row for each flow, with the columns FLOW_COLUMNS."""
    rates, goodputs = competition.rates_bps, competition.goodputs_bps
    losses, repeats = competition.lost_shares(), competition.repeated_shares()
    total = 0.0 if rates is None else float(rates[competition.competing].sum())
    rows: list[tuple[Any, ...]] = []
    for index, flow in enumerate(competition.flows):
        share = 100 * float(rates[index]) / total if rates is not None and total and not flow.cross else None
        rows.append(
            (
                *(flow.name, flow.group, flow.cross, flow.began_ns / 1e9, flow.ended_ns / 1e9),
                float(rates[index]) / 1e6 if rates is not None else None,
                float(goodputs[index]) / 1e6 if goodputs is not None else None,
                share,
                *(_percent(shares, index) for shares in (losses, repeats)),
            )
        )
    return {name: [row[place] for row in rows] for place, name in enumerate(FLOW_COLUMNS)}


def _percent(shares: Numbers | None, index: int) -> float | None:
    return None if shares is None or np.isnan(shares[index]) else 100 * float(shares[index])


def rate_columns(competition: Competition) -> Columns:
    """Return the rate of every flow in every whole bin, with the columns RATE_COLUMNS; no rows if no flow began."""
    if not competition.flows:
        return {name: [] for name in RATE_COLUMNS}
    begin_ns = min(flow.began_ns for flow in competition.flows)
    end_ns = max(flow.ended_ns for flow in competition.flows)
    length_s = (end_ns - begin_ns) / 1e9
    bin_s = next((width for width in BINS_S if length_s / width <= MOST_BINS), length_s / MOST_BINS)
    series = competition.series_bps(bin_s, begin_ns, end_ns)
    bins = series.shape[1]
    times_s = (np.arange(bins) * bin_s).round(6).tolist()
    capacity = competition.capacity_series_bps(bin_s, begin_ns, bins)
    link = [None] * bins if capacity is None else (capacity / 1e6).round(6).tolist()
    return {
        "flow": [flow.name for flow in competition.flows for _ in range(bins)],
        "group": [flow.group for flow in competition.flows for _ in range(bins)],
        "time_s": times_s * len(competition.flows),
        "mbps": (series.reshape(-1) / 1e6).round(6).tolist(),
        "link_mbps": link * len(competition.flows),
    }
