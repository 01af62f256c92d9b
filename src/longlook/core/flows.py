"""The flows of a trial: one, or several that compete. Pure, and light: the agent needs it."""

from pathlib import Path

from longlook.core.model import Endpoint, Flow, Scalar, ServerConfig, Trial, Workload
from longlook.core.protocol import find_protocol

MOVES = frozenset({"move_at", "move_after_silence"})
"""Knobs of clients that continue from their second address."""
MULTIPATH = "multipath"
"""Knob of both ends of a QUIC connection over several paths at once, which the client opens from its second address."""
PREFERRED_ADDRESS = "preferred_address"
"""Knob of a server that asks its clients to continue at its second address."""
MOST_ADDRESS_SLOTS = 254
"""Pairs of addresses for competing flows. Each has two programs, for which a guest's memory must have room."""
DURATION = "duration_s"
"""Parameter of a workload: after that time all flows stop together; None or absent: each when it has everything."""
WARM_UP = "warm_up_s"
"""Parameter of a workload: after the last start, not measured."""
WATCH = "watch_s"
"""Parameter of a workload: after that time a player stops, whatever it has shown."""
FLOWS_FOLDER, FLOWS_FILE = "flows", "flows.json"
"""In the folder of a trial whose flows compete: the folder with a folder for each, and the file with their times."""
LOAD_FILE = "load.jsonl"
"""In the folder of a trial whose client prints no lines: what it left and when, as the laboratory saw it."""
OBJECTS, ENDLESS = "objects_bytes", "endless_bytes"
"""Parameters of the content of competing flows: sizes of whole objects, and of the object that never ends."""


def endpoints_of(trial: Trial) -> list[Endpoint]:
    """Return every program of a trial, servers, clients and a proxy; one may be there more than once."""
    proxies = [] if trial.proxy is None else [trial.proxy]
    return [*(end for flow in trial.each_flow() for end in (flow.server, flow.client)), *proxies]


def server_configs_of(trial: Trial) -> list[ServerConfig]:
    """Return the configurations that the user brings for a trial's servers; one may be there more than once."""
    return [flow.server.config for flow in trial.each_flow() if flow.server.config is not None]


def moves(trial: Trial) -> bool:
    """Whether its client has to continue from a second address, which it must then have."""
    return not MOVES.isdisjoint(trial.client.knobs)


def over_several_paths(trial: Trial) -> bool:
    """Whether its client has to use several paths of a QUIC connection, one of them from a second address."""
    return MULTIPATH in trial.client.knobs


def has_second_address(trial: Trial) -> bool:
    """Whether its client has a second address, also if there is one link."""
    return moves(trial) or over_several_paths(trial)


def offers_preferred_address(trial: Trial) -> bool:
    """Whether its server has a second address, to which it asks its clients to come, also if there is one link."""
    return bool(trial.server.knobs.get(PREFERRED_ADDRESS))


def runs_tcp(trial: Trial) -> bool:
    """Whether the kernel's TCP carries one of its flows."""
    return any(flow.congestion_control is not None for flow in trial.each_flow())


def stop_after_s(workload: Workload) -> float | None:
    """Return when all flows stop together, in s after the start; None if each stops when it has everything."""
    duration_s = workload.parameters.get(DURATION)
    return None if duration_s is None else float(duration_s)


def watched_s(workload: Workload) -> float | None:
    """Return how long a video is watched, in s after the start; None if there is no video."""
    watch_s = workload.parameters.get(WATCH)
    return None if watch_s is None else float(watch_s)


def program_role(flow: Flow, role: str) -> str:
    """Return the name that a job has for the program of a flow's end; one program may serve several flows."""
    if not flow.competes:
        return role
    end = flow.server if role == "server" else flow.client
    return f"{end.stack}@{end.version}"


def flow_folder(folder: Path, flow: Flow) -> Path:
    """Return the folder of a flow's files; `folder` is its trial's, which has them if the flow does not compete."""
    return folder / FLOWS_FOLDER / flow.name if flow.competes else folder


def content_parameters(trial: Trial) -> dict[str, Scalar]:
    """Return the parameters of a trial that decide which files are served."""
    if not trial.competes or watched_s(trial.workload) is not None:
        return dict(trial.workload.parameters)
    paths = {path for flow in trial.flows for phase in phases_of(flow) for path in phase}
    sizes = sorted({flow.object_bytes for flow in trial.flows if flow.object_bytes is not None})
    endless = trial.workload.parameters.get(ENDLESS, 0) if endless_path() in paths else 0
    return {OBJECTS: ",".join(map(str, sizes)), ENDLESS: endless}


def phases_of(flow: Flow) -> tuple[tuple[str, ...], ...]:
    """Return the paths that a flow's client requests, phase by phase."""
    if find_protocol(flow.protocol).cross_traffic:
        return ()
    return ((endless_path() if flow.object_bytes is None else whole_path(flow.object_bytes),),)


def endless_path() -> str:
    """Return the path of the file that no flow gets to the end of."""
    return "/endless.bin"


def whole_path(size_bytes: int) -> str:
    """Return the path of a file that flows fetch whole."""
    return f"/object-{size_bytes}.bin"
