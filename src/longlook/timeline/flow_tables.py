"""A contest as tables: what each flow got, and the rate of each over time. Pure."""

from typing import Any

import numpy as np

from longlook.timeline.competition import Contest, Numbers

FLOW_COLUMNS = (
    *("flow", "group", "cross", "began_s", "ended_s", "rate_mbps", "goodput_mbps", "share_pct", "loss_pct"),
    "repeated_pct",
)
"""Times since the trial's start. The rest is of the window in which all contestants were at it, null without one; the
share is of what all contestants got, and null for cross traffic. `repeated_pct` is of TCP's payload that reached the
link, null for other flows."""
RATE_COLUMNS = ("flow", "group", "time_s", "mbps", "link_mbps")
"""Of bins from the first flow's start on; `time_s` is a bin's beginning. `link_mbps` is what the link could carry, null
where that is not known."""

BINS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
MOST_BINS = 240

Columns = dict[str, list[Any]]


def flow_columns(contest: Contest) -> Columns:
    """One row for each lane, columns FLOW_COLUMNS."""
    rates, goodputs = contest.rates_bps, contest.goodputs_bps
    losses, repeats = contest.lost_shares(), contest.repeated_shares()
    total = 0.0 if rates is None else float(rates[contest.contestants].sum())
    rows: list[tuple[Any, ...]] = []
    for index, lane in enumerate(contest.lanes):
        share = 100 * float(rates[index]) / total if rates is not None and total and not lane.cross else None
        rows.append(
            (
                *(lane.name, lane.group, lane.cross, lane.began_ns / 1e9, lane.ended_ns / 1e9),
                float(rates[index]) / 1e6 if rates is not None else None,
                float(goodputs[index]) / 1e6 if goodputs is not None else None,
                share,
                *(_percent(shares, index) for shares in (losses, repeats)),
            )
        )
    return {name: [row[place] for row in rows] for place, name in enumerate(FLOW_COLUMNS)}


def _percent(shares: Numbers | None, index: int) -> float | None:
    return None if shares is None or np.isnan(shares[index]) else 100 * float(shares[index])


def rate_columns(contest: Contest) -> Columns:
    """The rate of every lane in every whole bin, columns RATE_COLUMNS; no rows where nothing began."""
    if not contest.lanes:
        return {name: [] for name in RATE_COLUMNS}
    begin_ns = min(lane.began_ns for lane in contest.lanes)
    end_ns = max(lane.ended_ns for lane in contest.lanes)
    length_s = (end_ns - begin_ns) / 1e9
    bin_s = next((width for width in BINS_S if length_s / width <= MOST_BINS), length_s / MOST_BINS)
    series = contest.series_bps(bin_s, begin_ns, end_ns)
    bins = series.shape[1]
    times_s = (np.arange(bins) * bin_s).round(6).tolist()
    capacity = contest.capacity_series_bps(bin_s, begin_ns, bins)
    link = [None] * bins if capacity is None else (capacity / 1e6).round(6).tolist()
    return {
        "flow": [lane.name for lane in contest.lanes for _ in range(bins)],
        "group": [lane.group for lane in contest.lanes for _ in range(bins)],
        "time_s": times_s * len(contest.lanes),
        "mbps": (series.reshape(-1) / 1e6).round(6).tolist(),
        "link_mbps": link * len(contest.lanes),
    }
