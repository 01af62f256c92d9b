"""The programs of a trial as the laboratory starts them: servers, and clients that end with their job."""

from collections.abc import Mapping
from pathlib import Path

from longlook.core import registry
from longlook.core.errors import InputError
from longlook.core.job import Job, Program
from longlook.core.model import Capture, Endpoint
from longlook.core.stack import ServerJob, Stack
from longlook.lab.clients import PlainClient
from longlook.lab.environment import Environment
from longlook.lab.linux.cpuquota import CpuQuota
from longlook.lab.process import Process, start
from longlook.lab.topology import SERVER_PORT, Side


def stack_of(end: Endpoint) -> Stack:
    """The declaration of a program's stack."""
    return registry.stack(end.stack)


def start_server(
    job: Job, program: Program, address: str, side: Side, environment: Environment, folder: Path, name: str
) -> Process:
    """Start the server of a flow; the job's trial is as it sees it, `name` is its own ("" of a trial's only one)."""
    trial = job.trial
    stack = stack_of(trial.server)
    if stack.server_command is None:
        raise InputError(f"stack {stack.name} has no server", "see: longlook stacks list")
    order = ServerJob(
        protocol=trial.protocol,
        address=address,
        port=SERVER_PORT,
        www=job.content.root,
        identity=job.identity,
        knobs=trial.server.knobs,
    )
    command = stack.server_command(program, order)
    return start(
        "server",
        command.argv,
        side.namespace,
        environment.variables(_told(job, "server", name), command.env),
        stdout_log=folder / "server.jsonl",
        stderr_log=folder / "server.stderr",
    )


def plain_client(
    job: Job,
    program: Program,
    side: Side,
    environment: Environment,
    folder: Path,
    name: str,
    quota: CpuQuota | None,
) -> PlainClient:
    """The client of a flow, yet to begin."""
    trial = job.trial
    stack = stack_of(trial.client)
    if stack.client_command is None:
        raise InputError(f"stack {stack.name} has no client that ends with its job", "see: longlook stacks list")
    job_file = folder / "client.json"
    command = stack.client_command(program, str(job_file))
    env = environment.variables(_told(job, "client", name), command.env)
    return PlainClient(command, env, side, folder, job_file, quota)


def _told(job: Job, role: str, name: str) -> Mapping[str, str]:
    """What a program is told in its environment. One of several flows gets the source of what it may do at random: the
    trial's seed, which all arms of a round have, and its own name, so that no two flows do the same.
    """
    source = {"LONGLOOK_SEED": str(job.trial.seed), "LONGLOOK_FLOW": name} if name else {}
    return {**captures(job.trial.capture, Path(job.folder), role, name), **source}


def captures(capture: Capture, folder: Path, role: str, name: str) -> Mapping[str, str]:
    """What tells a program to keep its own traces; those of several flows lie in folders of their names."""
    own = {}
    if capture.qlog:
        qlog = folder / "qlog" / role / name
        qlog.mkdir(parents=True, exist_ok=True)
        own["QLOGDIR"] = str(qlog)
    if capture.keylog and role == "client":
        own["SSLKEYLOGFILE"] = str(folder / (f"keys-{name}.log" if name else "keys.log"))
    return own
