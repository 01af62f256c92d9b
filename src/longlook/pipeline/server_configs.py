"""Checks own configurations of servers before any trial runs, each by its server, which says what it refuses and why.

The server's adapter is started once with the file, confined like a build of a stranger's sources, and asked for nothing
but the check. If a machine can confine nothing, the trials tell it.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import (
    CHECK_CONFIG_VARIABLE,
    SERVER_CONFIG_VARIABLE,
    Endpoint,
    InputError,
    MachineError,
    Plan,
    ServerConfig,
    ServerJob,
    codec,
    files,
    registry,
)
from longlook.provision import confined, server_configs
from longlook.run import Provisions

_EVERYWHERE, _PORT = "0.0.0.0", 8443  # noqa: S104 in a network of its own; below 1024 it may not listen
_LIMITS = confined.BuildLimits(time_s=60.0, folder_bytes=64 << 20, memory_bytes=2 << 30, processes=200)
_PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_HINT = "correct the file; docs/guide/server-config.md has what the laboratory sets itself"


@dataclass(frozen=True)
class _Case:
    """A server with a configuration, as an arm has it."""

    protocol: str
    server: Endpoint
    config: ServerConfig


def check_server_configs(plan: Plan, provisions: Provisions, say: Callable[[str], None]) -> None:
    """Raise InputError, with the file's line, if a server of the plan cannot take the configuration that it is given.

    `say` gets a sentence if nothing can be checked here.
    """
    cases = {
        codec.canonical([flow.protocol, flow.server]): _Case(flow.protocol, flow.server, flow.server.config)
        for trial in plan.trials
        for flow in trial.each_flow()
        if flow.server.config is not None
    }
    if not cases:
        return
    if isinstance(reason := confined.confinement(), str):
        say(f"server_config is checked by the trials, since no check of it can be confined here: {reason}")
        return
    for case in cases.values():
        _check(case, provisions)


def _check(case: _Case, provisions: Provisions) -> None:
    stack = registry.stack(case.server.stack)
    if stack.server_command is None:
        raise InputError(f"stack {stack.name} has no server", "see: longlook stacks list")
    with tempfile.TemporaryDirectory(prefix="longlook-") as place:
        folder = Path(place)
        www, file, log = folder / "www", folder / "config" / Path(case.config.name).name, folder / "log"
        www.mkdir()
        file.parent.mkdir()
        file.write_bytes(server_configs.load(case.config).encode())
        knobs = {**stack.preset, **case.server.knobs}
        job = ServerJob(case.protocol, _EVERYWHERE, _PORT, str(www), provisions.identity, knobs)
        command = stack.server_command(provisions.programs[case.server.stack, case.server.version], job)
        asked = {SERVER_CONFIG_VARIABLE: str(file), CHECK_CONFIG_VARIABLE: "1"}
        try:
            confined.run(command.argv, folder, {**_PATH, **command.env, **asked}, limits=_LIMITS, log=log)
        except MachineError as error:
            reason = _error_of(log) or error.message
            server = f"{case.server.stack}@{case.server.version} over {case.protocol}"
            raise InputError(f"server_config of {server}: {reason}", _HINT) from error


def _error_of(log: Path) -> str:
    """Return the reason of the last `error` line in the output of an adapter; "" if it printed none."""
    for text in reversed(files.read_text(log, errors="replace").splitlines()):
        try:
            line: Mapping[str, Any] = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and line.get("event") == "error":
            return str(line.get("reason"))
    return ""
