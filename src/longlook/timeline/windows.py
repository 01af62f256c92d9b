"""Congestion windows of a trial's senders over the load, from traces. Pure."""

from dataclasses import dataclass

import numpy as np

from longlook.timeline.competition import Competition, server_of
from longlook.timeline.events import EventKind, among
from longlook.timeline.timeline import Timeline


@dataclass(frozen=True)
class WindowOverLoad:
    """The congestion window of one of the server's senders, each value held until the next.

    `grown_bytes` is the sum of all its increases: what it climbed, whatever it lost in between. It does not depend on
    how often a log has the window, as long as none falls and rises again unseen.
    """

    flow: str
    mean_bytes: float
    grown_bytes: float


def windows_over_load(timeline: Timeline) -> list[WindowOverLoad] | None:
    """Return the windows of all senders at the server that have any in the load; None without traces or a load."""
    rows = timeline.events_in_load([EventKind.METRICS], "server")
    window = timeline.load_window_ns()
    if rows is None or window is None or timeline.events is None:
        return None
    rows = rows.filter(rows["cwnd_bytes"].is_valid())
    found = []
    for flow, vantage in timeline.events.senders():
        own = rows.filter(among(rows["flow"], [flow]))
        held_ns = np.diff(own["time_ns"].to_numpy(), append=window[1])
        if vantage == "server" and held_ns.sum() > 0:
            cwnd_bytes = own["cwnd_bytes"].to_numpy().astype(np.float64)
            grown = float(np.diff(cwnd_bytes).clip(min=0).sum())
            found.append(WindowOverLoad(flow, float(np.average(cwnd_bytes, weights=held_ns)), grown))
    return found


def share_of_first_group(timeline: Timeline, *, grown: bool) -> float | None:
    """Return a flow of the first group's window in % of the sum of it and a competing flow's, or of what they grew.

    Of several flows of a group the mean counts, so that 50 % are windows alike however many there are. None where a
    flow that competes has no window, or where there are no competitors.
    """
    competition, windows = Competition.of(timeline), windows_over_load(timeline)
    if competition is None or windows is None or not competition.competitors:
        return None
    of_server = {server_of(each.flow): each.grown_bytes if grown else each.mean_bytes for each in windows}
    groups = [
        [of_server.get(competition.flows[index].server_address) for index in group]
        for group in (competition.subject, competition.competitors)
    ]
    known = [[value for value in group if value is not None] for group in groups]
    if [len(group) for group in known] != [len(group) for group in groups]:
        return None
    first, others = (float(np.mean(group)) for group in known)
    return 100 * first / (first + others) if first + others > 0 else None
