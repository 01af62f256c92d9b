"""Congestion windows of a trial's senders over the load, from traces. Pure."""

from collections.abc import Mapping
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


@dataclass(frozen=True)
class Rises:
    """Rises of a window: the share of round trips that have one, and the mean rise of such a round trip."""

    often_pct: float
    step_bytes: float


def windows_over_load(timeline: Timeline) -> list[WindowOverLoad] | None:
    """Return the windows of all senders at the server that have any in the load; None without traces or a load."""
    rows = timeline.events_in_load([EventKind.METRICS], timeline.sender)
    window = timeline.load_window_ns()
    if rows is None or window is None or timeline.events is None:
        return None
    rows = rows.filter(rows["cwnd_bytes"].is_valid())
    found = []
    for flow, vantage in timeline.events.senders():
        own = rows.filter(among(rows["flow"], [flow]))
        held_ns = np.diff(own["time_ns"].to_numpy(), append=window[1])
        if vantage == timeline.sender and held_ns.sum() > 0:
            cwnd_bytes = own["cwnd_bytes"].to_numpy().astype(np.float64)
            grown = float(np.diff(cwnd_bytes).clip(min=0).sum())
            found.append(WindowOverLoad(flow, float(np.average(cwnd_bytes, weights=held_ns)), grown))
    return found


def rises_over_load(timeline: Timeline) -> dict[str, Rises] | None:
    """Return by flow how often and how steeply each window at the server that has any in the load rises.

    Windows are looked at once in each round trip without queues, from the load's start, so that what they do does not
    depend on how often a log has them. None without traces, a load, or a round trip that stays the same.
    """
    rows = timeline.events_in_load([EventKind.METRICS], timeline.sender)
    window, every_ns = timeline.load_window_ns(), (timeline.metadata.get("competition") or {}).get("rtt_ns")
    if rows is None or window is None or timeline.events is None or not every_ns:
        return None
    rows = rows.filter(rows["cwnd_bytes"].is_valid())
    moments_ns = np.arange(window[0], window[1] + 1, every_ns)
    found = {}
    for flow, vantage in timeline.events.senders():
        own = rows.filter(among(rows["flow"], [flow]))
        places = np.searchsorted(own["time_ns"].to_numpy(), moments_ns, side="right") - 1
        steps = np.diff(own["cwnd_bytes"].to_numpy().astype(np.float64)[places[places >= 0]])
        if vantage == timeline.sender and len(steps):
            up = steps[steps > 0]
            found[flow] = Rises(100 * len(up) / len(steps), float(up.mean()) if len(up) else 0.0)
    return found


def share_of_rises(timeline: Timeline, *, steepness: bool) -> float | None:
    """Return how often a flow of the first group's window rises, or how steeply, in % of the sum of it and another's.

    As `share_of_first_group`, of `rises_over_load`.
    """
    rises = rises_over_load(timeline)
    if rises is None:
        return None
    return _share(timeline, {flow: each.step_bytes if steepness else each.often_pct for flow, each in rises.items()})


def share_of_first_group(timeline: Timeline, *, grown: bool) -> float | None:
    """Return a flow of the first group's window in % of the sum of it and a competing flow's, or of what they grew.

    The mean counts for several flows of a group, so that 50 % are windows alike however many flows there are. None if a
    flow that competes has no window, or if there are no competitors.
    """
    windows = windows_over_load(timeline)
    if windows is None:
        return None
    return _share(timeline, {each.flow: each.grown_bytes if grown else each.mean_bytes for each in windows})


def _share(timeline: Timeline, of_flow: Mapping[str, float]) -> float | None:
    competition = Competition.of(timeline)
    if competition is None or not competition.competitors:
        return None
    of_server = {server_of(flow): value for flow, value in of_flow.items()}
    groups = [
        [of_server.get(competition.flows[index].server_address) for index in group]
        for group in (competition.subject, competition.competitors)
    ]
    known = [[value for value in group if value is not None] for group in groups]
    if [len(group) for group in known] != [len(group) for group in groups]:
        return None
    first, others = (float(np.mean(group)) for group in known)
    return 100 * first / (first + others) if first + others > 0 else None
