"""One trial's artefacts → its timeline, and the events of its traces."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import (
    BEHIND,
    DEADLINE,
    FLOWS_FILE,
    FLOWS_FOLDER,
    MAIN,
    SCHEMA_VERSION,
    SECOND,
    WARM_UP,
    Run,
    Trial,
    Vantage,
    files,
    find_metric,
    link_file,
)
from longlook.timeline.decode import decode_to
from longlook.timeline.events import EventKind, Events
from longlook.timeline.normalise.endpoint import Connection, Endpoints, Row, read_endpoints
from longlook.timeline.normalise.lines import Account
from longlook.timeline.normalise.link_log import LINK_FILE, PacketLogError, capacity, read_link_log, read_stages, rtt_ns
from longlook.timeline.normalise.packets import table_of_packets
from longlook.timeline.normalise.traces import normalise_traces
from longlook.timeline.timeline import Kind, Timeline, merge_tables, table_of_rows

LINK_LOGS = LINK_LOG, SECOND_LOG, BEHIND_LOG = tuple(link_file(name, ".bin") for name in (MAIN, SECOND, BEHIND))
UNREADABLE = "unreadable"
"""Begins the reason why nothing of a link's log could be used."""
OVER_SECOND = "over the second link"
"""In `detail` of a packet's row."""
NS_PER_S = 1_000_000_000
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError)
"""The exceptions of reading a file whose header holds anything but what it should."""


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


def normalise_trial(folder: Path, trial: Trial, run: Run) -> Timeline:
    """Return everything that the client, the server and the link of a trial saw, on one clock.

    Read `client.jsonl`, `server.jsonl` and the logs of the links of `folder`; with several flows also the logs of each
    flow. Nothing that a program wrote raises an error: records that are missing or unusable are counted, with the
    reason, in the timeline's metadata under `sources`.
    """
    competition = read_competition(folder, trial, run) if trial.competes else None
    endpoints = competition.endpoints if competition is not None else read_endpoints(folder)
    rows = [row | {"time_ns": row["time_ns"] - run.started_unix_ns} for row in endpoints.rows]
    packets, link_account = _packets(folder / LINK_LOG, run, endpoints.connections)
    accounts = {**endpoints.accounts, LINK_LOG: link_account}
    if trial.has_second_path:
        over_second, accounts[SECOND_LOG] = _packets(folder / SECOND_LOG, run, endpoints.connections)
        packets += [_marked(each) for each in over_second]
    if trial.has_middle:
        behind, accounts[BEHIND_LOG] = _behind(folder, trial, run, endpoints)
        packets += behind
    table = merge_tables([table_of_rows(rows + _work_rows(run)), *packets])
    deadline_s = trial.workload.parameters.get(DEADLINE)
    metadata: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "trial_id": trial.id,
        "started_unix_ns": run.started_unix_ns,
        "sources": {name: account.as_metadata() for name, account in accounts.items()},
        **({"competition": competition.facts} if competition is not None else {}),
        **({"sender": Vantage.CLIENT} if endpoints.uploads else {}),
        **({"http2_windows": endpoints.http2_windows} if endpoints.http2_windows else {}),
        **({"live": {"deadline_ns": round(float(deadline_s) * NS_PER_S)}} if deadline_s is not None else {}),
        **({"video": _video(endpoints.video, folder, trial)} if endpoints.video else {}),
    }
    return Timeline(table).with_metadata(metadata)


def traffic_digest(folder: Path, trial: Trial) -> str | None:
    """Return a digest of the times, sizes and fates of all packets of a trial, whichever of its links they passed.

    None if a log is missing or cannot be read: then nothing is known to be alike.
    """
    names = [link_file(name, ".bin") for name in trial.links]
    try:
        return " ".join(read_link_log(folder / name).traffic_digest() for name in names)
    except (PacketLogError, OSError):
        return None


def _video(known: dict[str, Any], folder: Path, trial: Trial) -> dict[str, Any]:
    """Return what the player said of its video, with the link's rate towards it if that is known."""
    rate = None if trial.further else capacity(read_stages(folder / LINK_FILE), trial.start_phase_ns)
    return known if rate is None else {**known, "capacity": rate}


def _marked(packets: pa.Table) -> pa.Table:
    """Return packets of the second link, as `detail` says; `sequence` counts them by themselves."""
    details = packets["detail"].to_pylist()
    marked = pa.array([f"{each}; {OVER_SECOND}" if each else OVER_SECOND for each in details])
    at = packets.schema.get_field_index("detail")
    return packets.set_column(at, packets.schema.field(at), marked.cast(packets.schema.field(at).type))


def _behind(folder: Path, trial: Trial, run: Run, endpoints: Endpoints) -> tuple[list[pa.Table], Account]:
    """Return the packets of the link behind the middle.

    A router passes on the client's own connections. A proxy's connections are no client's: the log names them, and they
    are priming until the measured load begins, which with a proxy that keeps its connections is a matter of time alone.
    """
    connections = endpoints.connections if trial.proxy is None else []
    packets, account = _packets(folder / BEHIND_LOG, run, connections, Vantage.BEHIND)
    if trial.proxy is None:
        return packets, account
    begins = (Kind.PAGE_STARTED, Kind.REQUEST_SENT)
    began = [row["time_ns"] for row in endpoints.rows if row["kind"] in begins and not row["priming"]]
    began_ns = min(began, default=run.started_unix_ns) - run.started_unix_ns
    return [_priming_before(began_ns, each) for each in packets], account


def _priming_before(began_ns: int, packets: pa.Table) -> pa.Table:
    at = packets.schema.get_field_index("priming")
    return packets.set_column(at, packets.schema.field(at), pc.less(packets["arrival_ns"], began_ns))


def _packets(
    path: Path, run: Run, connections: list[Connection], vantage: Vantage = Vantage.LINK
) -> tuple[list[pa.Table], Account]:
    if not path.exists():
        return [], Account(present=False)
    account = Account()
    try:
        log = read_link_log(path)
        table = table_of_packets(log, run.started_unix_ns, connections, vantage)
    except DAMAGE as error:
        account.skipped[f"{UNREADABLE}: {type(error).__name__}: {error}"] += 1
        return [], account
    account.read = table.num_rows
    if impossible := len(log.records) - table.num_rows:
        account.skipped["record with an impossible direction or time"] = impossible
    if log.truncated_bytes:
        account.skipped["record cut off at the end"] = 1
    return [table], account


def _work_rows(run: Run) -> list[Row]:
    ended_ns = round((run.setup_s + run.measure_s) * NS_PER_S)
    return [
        {"time_ns": ended_ns, "kind": Kind.CPU_USED, "vantage": role, "priming": False, "value": seconds}
        for role, seconds in sorted(run.cpu_s.items())
        if role in set(Vantage)
    ] + [
        {"time_ns": ended_ns, "kind": kind, "vantage": role, "priming": False, "value": float(counts[name])}
        for role, counts in sorted(run.kernel_counts.items())
        for name, kind in (("packets", Kind.PACKETS_TAKEN), ("calls", Kind.SYSTEM_CALLS))
        if name in counts
    ]


def write_events(folder: Path, trial: Trial, run: Run, timeline: Timeline, out: Path) -> bool:
    """Write the events of the traces in a trial's folder to `out`; return False if it holds no trace."""
    out.unlink(missing_ok=True)  # of an earlier Longlook it may be a cache's too
    return normalise_traces(folder, trial, run, timeline, decode_to, out) is not None


def needs_events(metrics: Iterable[str]) -> bool:
    """Return whether one of some metrics reads events of traces."""
    return any(kind in set(EventKind) for name in metrics for kind in find_metric(name).needs)


def full_timeline(folder: Path, trial: Trial, run: Run, metrics: Iterable[str]) -> Timeline:
    """Return a trial's timeline, with its events if a metric needs them. Write nothing into the folder."""
    timeline = normalise_trial(folder, trial, run)
    if not needs_events(metrics):
        return timeline
    with tempfile.TemporaryDirectory(prefix="longlook-events-") as scratch:
        out = Path(scratch) / "events.parquet"
        return timeline.with_events(Events.read(out)) if write_events(folder, trial, run, timeline, out) else timeline
