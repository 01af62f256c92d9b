"""The programs of a trial: servers, clients that end with their job, and what stands between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import (
    SERVER_CONFIG_VARIABLE,
    SITE_ADDRESS_VARIABLE,
    ClientJob,
    Command,
    Endpoint,
    InputError,
    Job,
    OwnRoot,
    Program,
    ProxyJob,
    RelayJob,
    Scalar,
    ServerJob,
    Stack,
    offers_preferred_address,
    registry,
)
from longlook.lab import multipath
from longlook.lab.addresses import SERVER_PORT, plan_of
from longlook.lab.clients import PlainClient, Prepared
from longlook.lab.environment import Environment
from longlook.lab.host_paths import job_paths
from longlook.lab.process import Process
from longlook.lab.sandbox import Sandbox
from longlook.lab.topology import EndpointNamespace
from longlook.lab.trace_folders import TracePlaces

_TRACES_IN_ROOT = {"QLOGDIR": "logs/qlog", "SSLKEYLOGFILE": "logs/keys.log"}
"""Variables of traces, and what they name in a root of a program's own."""
PROXY, RELAY = "proxy", "relay"
"""Names of processes, and of the files that they leave."""
_SECOND_ADDRESS = "LONGLOOK_SECOND_ADDRESS"
"""The variable of a server that has a second address (adapters/CONTRACT.md)."""
_CONFIG_FOLDER = "server-config"
"""The folder of a flow's that has the server's own configuration, if the user brings one."""


def stack_of(end: Endpoint) -> Stack:
    """Return the declaration of an endpoint's stack."""
    return registry.stack(end.stack)


@dataclass(frozen=True)
class Launch:
    """The place and the command with which a program of a flow is started: `name` is the flow's, "" if it is the only
    one.
    """

    side: EndpointNamespace
    environment: Environment
    sandbox: Sandbox
    folder: Path  # the flow's
    outlets: Path  # where standard error and TLS secrets of the whole trial go, laid out as in its folder
    traces: TracePlaces  # of the whole trial
    name: str


def start_server(job: Job, program: Program, address: str, launch: Launch) -> Process:
    """Start the server of a flow and return its process; raise InputError if the stack has no server.

    The job's trial is the trial as this flow sees it.
    """
    trial = job.trial
    stack = stack_of(trial.server)
    if stack.server_command is None:
        raise InputError(f"stack {stack.name} has no server", "see: longlook stacks list")
    server_job = ServerJob(
        protocol=trial.protocol,
        address=address,
        port=SERVER_PORT,
        www=job.content.root,
        identity=job.identity,
        knobs={**stack.preset, **trial.server.knobs},
        connection=trial.connection,
    )
    command = stack.server_command(program, server_job)
    variables, traces = _variables(job, "server", launch)
    return _prepared("server", job, command, launch, {**variables, **_own_config(job, launch)}, traces).start()


def _own_config(job: Job, launch: Launch) -> Mapping[str, str]:
    """Write the configuration that the user brings for the server, if any, and return the variable that names it.

    Its folder has one file, of whatever name, so that it can take no other file's place.
    """
    config = job.trial.server.config
    if config is None:
        return {}
    file = launch.folder / _CONFIG_FOLDER / Path(config.name).name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(job.configs[config.digest].encode())
    return {SERVER_CONFIG_VARIABLE: str(file)}


def start_proxy(job: Job, upstream: str, launch: Launch) -> Process:
    """Start the proxy of a trial, which carries on to the server at `upstream` (`ip:port`); return its process."""
    stack, knobs = _proxy_of(job)
    if stack.proxy_command is None:
        raise InputError(f"stack {stack.name} has no proxy", "see: longlook stacks list")
    address, protocol = launch.side.end.address, job.trial.protocol
    where = ProxyJob(protocol, address, SERVER_PORT, upstream, job.identity, knobs)
    return _start_beside(job, PROXY, stack.proxy_command(job.programs["proxy"], where), launch)


def start_relay(job: Job, proxy: str, target: str, launch: Launch) -> Process | None:
    """Start what stands beside the client and tunnels to `proxy`, for the server `target` (both `ip:port`).

    Return its process; None if clients connect to the proxy themselves.
    """
    stack, knobs = _proxy_of(job)
    if stack.relay_command is None:
        return None
    address, protocol = launch.side.end.address, job.trial.protocol
    where = RelayJob(protocol, address, SERVER_PORT, proxy, job.identity, knobs, target)
    return _start_beside(job, RELAY, stack.relay_command(job.programs["proxy"], where), launch)


def _proxy_of(job: Job) -> tuple[Stack, Mapping[str, Scalar]]:
    if job.trial.proxy is None:
        raise ValueError("the trial has no proxy")
    stack = stack_of(job.trial.proxy)
    return stack, {**stack.preset, **job.trial.proxy.knobs}


def _start_beside(job: Job, name: str, command: Command, launch: Launch) -> Process:
    return _prepared(name, job, command, launch, {}, ()).start()


def plain_client(job: Job, program: Program, launch: Launch, work: ClientJob) -> PlainClient:
    """Return the client of a flow, not yet started; raise InputError if the stack has none that ends by itself.

    `work` is what it will be given.
    """
    stack, job_file = stack_of(job.trial.client), launch.folder / "client.json"
    if stack.requests_command is not None:
        command = stack.requests_command(program, work)
    elif stack.client_command is not None:
        command = stack.client_command(program, str(job_file))
    else:
        raise InputError(f"stack {stack.name} has no client that ends with its job", "see: longlook stacks list")
    prepared = _prepared("client", job, command, launch, *_variables(job, "client", launch))
    leaves = None if stack.requests_command is None else job.content.expected
    return PlainClient(prepared, launch.side.quota, job_file, leaves)


def _prepared(
    name: str, job: Job, command: Command, launch: Launch, variables: Mapping[str, str], traces: Sequence[Path]
) -> Prepared:
    """Return a program that can be started; `traces` are the files and folders that it may write, beside its own."""
    root, own = command.root, variables
    if root is not None:
        root, own = _with_traces(root, variables)
    make_environment = launch.environment.variables if root is None else launch.environment.variables_of_root
    return Prepared(
        name,
        command.argv,
        launch.side.namespace,
        make_environment(own, command.env),
        launch.folder,
        _outlet(job, launch),
        launch.sandbox.of_trial(_name(name, launch.name), (*job_paths(job), job.folder), traces, root),
        says_ready=root is None,
    )


def _with_traces(root: OwnRoot, variables: Mapping[str, str]) -> tuple[OwnRoot, Mapping[str, str]]:
    """Return a root that shows the files and folders of traces, and the variables with their places in it."""
    places = {name: place for name, place in _TRACES_IN_ROOT.items() if name in variables}
    shown = {**root.shown, **{place: variables[name] for name, place in places.items()}}
    return replace(root, shown=shown), {**variables, **{name: f"/{place}" for name, place in places.items()}}


def program_names(job: Job) -> list[str]:
    """Return the names that a sandbox has for the programs of a job, except session clients."""
    flows = [flow.name for flow in job.trial.each_flow()]
    beside = [] if job.trial.proxy is None else [_name(PROXY, ""), _name(RELAY, "")]
    return [*(_name(role, flow) for flow in flows for role in ("server", "client")), *beside]


def _outlet(job: Job, launch: Launch) -> Path:
    """Return the existing folder for standard error of the programs of a flow."""
    outlet = launch.outlets / launch.folder.relative_to(job.folder)
    outlet.mkdir(parents=True, exist_ok=True)
    return outlet


def _name(role: str, flow: str) -> str:
    return f"{role} {flow}"


def _variables(job: Job, role: str, launch: Launch) -> tuple[Mapping[str, str], Sequence[Path]]:
    """Return the environment variables that depend on the trial, and the files and folders that they name.

    One of several flows gets the source of its randomness: the trial's seed, which all arms of a round share, and the
    flow's name, so that no two flows behave alike.
    """
    name = launch.name
    source = {"LONGLOOK_SEED": str(job.trial.seed), "LONGLOOK_FLOW": name} if name else {}
    own, traces = _capture_variables(job, role, launch)
    prefers = role == "server" and offers_preferred_address(job.trial)
    second = {_SECOND_ADDRESS: plan_of(job.trial).second_server} if prefers else {}
    site = {SITE_ADDRESS_VARIABLE: job.site.address} if role == "server" and job.site is not None else {}
    return {**own, **source, **multipath.variables(job.trial), **second, **site}, traces


def _capture_variables(job: Job, role: str, launch: Launch) -> tuple[Mapping[str, str], Sequence[Path]]:
    """Return the variables that make a program keep its own traces, and the files and folders that they name.

    These are made, because a program can write nothing else in a trial's folder. The traces of several flows lie in
    folders, or have names, with the flow's `name`.
    """
    own, made = {}, []
    if job.trial.capture.qlog:
        qlog = launch.traces.make(role, launch.name)
        own["QLOGDIR"] = str(qlog)
        made.append(qlog)
    if job.trial.capture.keylog and role == "client":
        keys = launch.outlets / (f"keys-{launch.name}.log" if launch.name else "keys.log")
        keys.touch()
        own["SSLKEYLOGFILE"] = str(keys)
        made.append(keys)
    return own, made
