"""A trial's several flows: their beginnings and ends, their programs' records, and the link's capacity."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import FLOWS_FILE, FLOWS_FOLDER, WARM_UP, Run, Trial, files
from longlook.timeline.normalise.endpoint import Endpoints, read_endpoints
from longlook.timeline.normalise.link_log import LINK_FILE, capacity, read_stages, rtt_ns


@dataclass(frozen=True)
class CompetitionRecord:
    """The record of a competition; `facts` are the timeline's metadata `competition` (docs/reference/timeline.md)."""

    endpoints: Endpoints
    facts: dict[str, Any]


def read_competition(folder: Path, trial: Trial, run: Run) -> CompetitionRecord:
    """Return what a trial's folder records of its flows; empty if the laboratory was lost before it wrote that."""
    try:
        flows = files.read_json(folder / FLOWS_FILE)
    except (OSError, ValueError):
        flows = []
    endpoints = Endpoints()
    for flow in flows:
        own = read_endpoints(folder / FLOWS_FOLDER / flow["name"], (flow["client_address"], flow["server_address"]))
        endpoints.rows += own.rows
        endpoints.connections += own.connections
        endpoints.video = endpoints.video or own.video
        endpoints.http2_windows |= own.http2_windows
        for name, account in own.accounts.items():
            if account.present:
                endpoints.accounts[f"{FLOWS_FOLDER}/{flow['name']}/{name}"] = account
    link = read_stages(folder / LINK_FILE)
    facts = [_facts(flow, run.started_unix_ns) for flow in flows]
    warm_up_ns = round(float(trial.workload.parameters.get(WARM_UP, 0)) * 1e9)
    return CompetitionRecord(
        endpoints,
        {
            "flows": facts,
            "window_ns": _window(facts, warm_up_ns),
            "capacity": capacity(link, trial.start_phase_ns),
            "rtt_ns": rtt_ns(link),
        },
    )


def _facts(flow: dict[str, Any], started_unix_ns: int) -> dict[str, Any]:
    times = {
        f"{name}_ns": None if flow[f"{name}_unix_ns"] is None else flow[f"{name}_unix_ns"] - started_unix_ns
        for name in ("began", "ended")
    }
    kept = ("name", "group", "cross", "client_address", "server_address", "ended_by_itself")
    return {**{name: flow[name] for name in kept}, **times}


def _window(flows: list[dict[str, Any]], warm_up_ns: int) -> list[int] | None:
    """Return the time in which all flows competed, without the warm-up, or None if there was no such time."""
    competing = [flow for flow in flows if not flow["cross"]]
    if not competing or any(flow["began_ns"] is None or flow["ended_ns"] is None for flow in competing):
        return None
    begin_ns = max(flow["began_ns"] for flow in competing) + warm_up_ns
    end_ns = min(flow["ended_ns"] for flow in competing)
    return [begin_ns, end_ns] if begin_ns < end_ns else None
