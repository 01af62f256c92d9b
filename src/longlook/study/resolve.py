"""Resolve settings to the setup of one arm in one cell; the last place where a wrong combination can show."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from longlook.core import units
from longlook.core.flows import DURATION, ENDLESS
from longlook.core.links import BEHIND, BOTTLENECKS, link_of, names_in
from longlook.core.model import Arm, ConnectionState, Endpoint, Level, Link, Processor, Scalar, Study, Workload
from longlook.core.problems import SettingError, allowed
from longlook.core.protocol import EITHER, find_protocol
from longlook.core.stack import PLAYER_RULES, Knob, Stack
from longlook.core.workload import WorkloadKind
from longlook.network import extra_links
from longlook.network import settings as network
from longlook.network.stages import largest_rate_bps
from longlook.study import processors, tcp
from longlook.study.catalogue import Catalogue
from longlook.study.echoes import check_echo
from longlook.study.settings import (
    NO_CPU_LIMIT,
    NO_PROXY,
    PROXY,
    SPLIT,
    WORKLOAD_PREFIX,
    workload_parameters,
)

_FASTEST_BPS = 10e9

Cell = Mapping[str, Level]
"""Factor name → level."""


@dataclass(frozen=True)
class Conditions:
    """The conditions that all arms of a cell share."""

    link: Link
    workload: Workload
    further: Mapping[str, Link] = field(default_factory=dict, metadata={"omitted_when_empty": True})


@dataclass(frozen=True)
class Circumstances:
    """The measurement of one arm where it differs from the other arms'; None: as theirs."""

    link: Link | None
    engine: str | None
    tcp: Mapping[str, Scalar]  # `Trial.tcp`
    client_cpu_share: float | None
    split: int = 1
    """Over how many connections each object is fetched, a part over each."""
    processors: Mapping[str, Processor] = field(default_factory=dict)  # `Trial.processors`
    further: Mapping[str, Link] = field(default_factory=dict)  # `Trial.further`, of an arm with settings of one of them


@dataclass(frozen=True)
class FlowSetup:
    """The programs, protocol and connection of one flow, or of an arm with one flow."""

    protocol: str
    connection: ConnectionState
    congestion_control: str | None
    server: Endpoint
    client: Endpoint
    proxy: Endpoint | None = field(default=None, metadata={"omitted_when_empty": True})


def cell_settings(study: Study, cell: Cell) -> dict[str, Scalar]:
    """Return the study's settings with those of the cell's levels over them."""
    settings = dict(study.settings)
    for level in cell.values():
        settings.update(level.sets)
    return settings


def resolve_conditions(settings: Mapping[str, Scalar], catalogue: Catalogue, *, ask_router: bool = True) -> Conditions:
    """Return link and workload of a cell's settings; SettingError where they cannot be.

    Without `ask_router` the router itself does not check the link, which costs the start of a program.
    """
    kind = catalogue.workloads[_kind(settings)]
    parameters = workload_parameters(kind, settings)
    make_link = network.link if ask_router else network.unchecked_link
    link = make_link(settings)
    if kind.competes and DURATION in parameters:
        parameters[ENDLESS] = _more_than_passes(link, float(parameters[DURATION]))
    return Conditions(link, Workload(kind.name, parameters), extra_links.links(settings, make_link))


def _kind(settings: Mapping[str, Scalar]) -> str:
    return str(settings[f"{WORKLOAD_PREFIX}kind"])


def _more_than_passes(link: Link, duration_s: float) -> int:
    """Return more bytes than a flow gets in that time: a power of two, so that few files serve all cells."""
    rates = [largest_rate_bps(stage) for stage in link.down if stage.kind in BOTTLENECKS]
    return 1 << math.ceil(math.log2(min(rates, default=_FASTEST_BPS) / 8 * duration_s * 1.1 + 1e6))


def has_own_link(arm: Arm) -> bool:
    """Whether an arm makes a setting of the path, so that its link is not the cell's.

    Arms of study files make those of ARM_CONDITIONS alone, counterfactual arms any.
    """
    return any(key.startswith("network.") or link_of(key) for key in arm.settings)


def resolve_circumstances(arm: Arm, settings: Mapping[str, Scalar], *, ask_router: bool = True) -> Circumstances:
    """Return the measurement's settings that the arm itself makes; SettingError where they cannot be."""
    own = tcp.with_presets(settings, arm.settings)
    make_link = network.link if ask_router else network.unchecked_link
    engine = own.get("engine")
    kernel_tcp = {} if not find_protocol(str(own.get("protocol"))).kernel_tcp else tcp.parameters(own)
    client_cpu = own.get("client_cpu", NO_CPU_LIMIT)
    return Circumstances(
        link=make_link(own) if any(key.startswith("network.") for key in arm.settings) else None,
        engine=None if engine is None else str(engine),
        tcp=kernel_tcp,
        client_cpu_share=None if client_cpu == NO_CPU_LIMIT else float(units.parse_share(client_cpu)),
        split=int(own.get(SPLIT, 1)),
        processors=processors.processors(own),
        further=extra_links.links(own, make_link) if names_in(arm.settings) else {},
    )


def split_workload(workload: Workload, split: int) -> Workload:
    """Return the workload with each object in so many parts of one size, one over each of as many connections.

    A player asks for parts of its segments itself.
    """
    if split == 1:
        return workload
    if "object_bytes" not in workload.parameters:
        return replace(workload, parameters={**workload.parameters, "connections": split})
    part_bytes = -(-int(workload.parameters["object_bytes"]) // split)
    return replace(workload, parameters={**workload.parameters, "object_bytes": part_bytes, "connections": split})


def resolve_flow_setup(arm: Arm, settings: Mapping[str, Scalar], catalogue: Catalogue) -> FlowSetup:
    """Return the arm's setup in a cell with these settings; SettingError where a program cannot do what is asked."""
    own = tcp.with_presets(settings, arm.settings)
    for key in ("protocol", "connection", "server", "client"):
        if key not in own:
            raise SettingError(
                key, f"missing: set it for the arm, or for all arms under [defaults] ({_HELP[key]})", absent=True
            )
    protocol, connection = str(own["protocol"]), ConnectionState(str(own["connection"]))
    protocols = sorted({EITHER.name, *(name for stack in catalogue.stacks.values() for name in stack.protocols)})
    if protocol not in protocols:
        raise SettingError("protocol", f"no stack speaks it; {allowed(protocol, protocols)}")
    check_echo(catalogue.workloads[_kind(settings)], protocol, own)
    endpoints = {}
    for role in ("server", "client"):
        stack, version = find_stack(role, str(own[role]), catalogue)
        _check_abilities(role, stack, version, protocol, connection)
        if role == "client":
            _check_connections(stack, own, catalogue)
            _check_waits(stack, connection, own, catalogue)
            _check_plays(stack, protocol, connection, own, catalogue)
        endpoints[role] = Endpoint(stack.name, version, _knobs(role, stack, version, protocol, own))
    congestion_control = None
    if not find_protocol(protocol).kernel_tcp:
        for key in (tcp.CONGESTION_CONTROL, tcp.PRESET, *tcp.SETTINGS):
            if key in arm.settings:
                raise SettingError(key, "sets the kernel's TCP; of others it is a knob of the stack, if any")
    else:
        if "congestion_control" not in own:
            message = 'missing: TCP\'s must be explicit, for example congestion_control = "cubic" or tcp = "stock"'
            raise SettingError("congestion_control", message, absent=True)
        congestion_control = str(own["congestion_control"])
    proxy = _proxy(own, protocol, connection, catalogue)
    return FlowSetup(protocol, connection, congestion_control, endpoints["server"], endpoints["client"], proxy)


def _proxy(
    own: Mapping[str, Scalar], protocol: str, connection: ConnectionState, catalogue: Catalogue
) -> Endpoint | None:
    """Return the proxy of an arm; None where it has none."""
    if (name := str(own.get(PROXY, NO_PROXY))) == NO_PROXY:
        if PROXY not in own and (knobs := [key for key in own if key.startswith("proxy_knobs.")]):
            raise SettingError(knobs[0], 'there is no proxy: write for example proxy = "haproxy", or leave this out')
        return None
    stack, version = find_stack(PROXY, name, catalogue)
    if BEHIND not in names_in(own):
        message = "stands between two links: add the table [behind], with rate and rtt of the link to the server"
        raise SettingError(PROXY, message)
    _check_abilities(PROXY, stack, version, protocol, connection)
    return Endpoint(stack.name, version, _knobs(PROXY, stack, version, protocol, own))


_PLAYER = "client_knobs.player"
_IDLE, _WARM = "workload.idle", "workload.warm"
_HELP = {
    "protocol": "h3 or h2, or another that a stack declares (longlook stacks list)",
    "connection": "cold, resumed or 0rtt",
    "server": "a stack, for example quic-go or quic-go@0.65.0",
    "client": "a stack, for example quic-go or chromium",
}


def find_stack(role: str, text: str, catalogue: Catalogue) -> tuple[Stack, str]:
    """Return stack and version of `name` or `name@version`; SettingError with the nearest name where there is none."""
    name, at, version = text.partition("@")
    stack = catalogue.stacks.get(name)
    if stack is None or role not in stack.roles:
        fitting = [known.name for known in catalogue.stacks.values() if role in known.roles]
        problem = f"no stack {name!r}" if stack is None else f"stack {name!r} has no {role}"
        raise SettingError(role, f"{problem}; {allowed(name, fitting)}")
    if at and version not in stack.version_names:
        raise SettingError(role, f"stack {name} has no version {version!r}; {allowed(version, stack.version_names)}")
    return stack, version or stack.default_version


def _check_abilities(role: str, stack: Stack, version: str, protocol: str, connection: ConnectionState) -> None:
    protocols, connections = stack.protocols_of(version), stack.connections_of(version, protocol)
    program = f"{role} {stack.name}" + (f"@{version}" if len(stack.versions) > 1 else "")
    if not stack.speaks(version, protocol):
        own = (*protocols, *((EITHER.name,) if stack.speaks(version, EITHER.name) else ()))
        raise SettingError("protocol", f"{program} does not speak it, but {', '.join(own)}")
    if connection not in connections:
        raise SettingError("connection", f"{program} cannot do this over {protocol}, but {', '.join(connections)}")


def _check_connections(client: Stack, settings: Mapping[str, Scalar], catalogue: Catalogue) -> None:
    split, connections = int(settings.get(SPLIT, 1)), int(settings.get(network.CONNECTIONS, 1))
    able = [name for name, kind in catalogue.workloads.items() if _may_be_split(kind)]
    if split > 1 and _kind(settings) not in able:
        raise SettingError(SPLIT, f"workload {_kind(settings)} fetches over one connection; use {', '.join(able)}")
    if split > 1 and connections > 1:
        raise SettingError(SPLIT, f"every object goes over all {connections} connections of the workload already")
    if max(split, connections) > 1 and not client.several_connections:
        able = [name for name, stack in catalogue.stacks.items() if stack.several_connections]
        raise SettingError(
            SPLIT if split > 1 else network.CONNECTIONS,
            f"client {client.name} opens one connection only; clients that open several: {', '.join(able) or 'none'}",
        )


def _may_be_split(kind: WorkloadKind) -> bool:
    return "connections" in kind.parameters and ("object_bytes" in kind.parameters or kind.plays)


def _check_plays(
    client: Stack, protocol: str, connection: ConnectionState, settings: Mapping[str, Scalar], catalogue: Catalogue
) -> None:
    if not catalogue.workloads[_kind(settings)].plays:
        if _PLAYER in settings and client.players:
            raise SettingError(_PLAYER, "a player is for workload video")
        return
    if not client.plays:
        able = [name for name, stack in catalogue.stacks.items() if stack.plays]
        raise SettingError(
            "client", f"client {client.name} plays no video; clients that do: {', '.join(able) or 'none'}"
        )
    if client.players:
        _check_player(client, connection, settings)
    if protocol == EITHER.name:
        raise SettingError("protocol", "a player speaks one protocol; allowed with workload video: h3, h2")


def _check_player(client: Stack, connection: ConnectionState, settings: Mapping[str, Scalar]) -> None:
    """Raise SettingError where a client that needs a player has none, or cannot play what the workload asks for."""
    player, quality = settings.get(_PLAYER), str(settings.get("workload.quality"))
    if player not in client.players:
        raise SettingError(
            _PLAYER, f"client {client.name} plays a video with a player of its page: {' or '.join(client.players)}"
        )
    if settings.get("workload.content", "noise") != "cmaf":
        raise SettingError("workload.content", f'{player} shows pictures: give content = "cmaf"')
    rules = client.players[str(player)]
    if quality in PLAYER_RULES and quality not in rules:
        raise SettingError("workload.quality", f"rules of {player}: {', '.join(rules) or 'none'}; or name a rung")
    if connection is not ConnectionState.COLD:
        raise SettingError("connection", f'{player} plays over a new connection: give connection = "cold"')
    start_ns, resume_ns, buffer_ns, segment_ns = (
        units.parse_time(settings.get(f"workload.{name}", usual))
        for name, usual in (("start", "0s"), ("resume", "0s"), ("buffer", "30s"), ("segment", "4s"))
    )
    if buffer_ns < 2 * segment_ns:
        raise SettingError("workload.buffer", f"{player} holds two segments at least: give a longer buffer")
    if start_ns > buffer_ns - segment_ns:
        raise SettingError("workload.start", f"{player} starts with a segment less than the buffer, or earlier")
    if player == "shaka" and start_ns != resume_ns:
        raise SettingError("workload.resume", "start and resume of shaka are one setting: give both the same length")
    if player == "dash.js" and resume_ns != 0:
        raise SettingError("workload.resume", "dash.js has no buffer with which it resumes: 0s alone")


def _check_waits(
    client: Stack, connection: ConnectionState, settings: Mapping[str, Scalar], catalogue: Catalogue
) -> None:
    for key in (_IDLE, _WARM):
        if units.parse_time(settings.get(key, "0s")) == 0:
            continue
        if not client.waits:
            able = [name for name, stack in catalogue.stacks.items() if stack.waits]
            raise SettingError(key, f"client {client.name} never waits; clients that do: {', '.join(able) or 'none'}")
        if key == _WARM and connection is ConnectionState.ZERO_RTT:
            raise SettingError(key, "a warm connection has its handshake behind it; allowed with it: cold, resumed")


def _knobs(role: str, stack: Stack, version: str, protocol: str, settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the role's knobs that differ from the stack's defaults."""
    prefix = f"{role}_knobs."
    known = stack.knobs_of(version, role)
    values: dict[str, Scalar] = {}
    for key in sorted(settings):
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            if name not in known:
                raise SettingError(key, f"{role} {stack.name} {_lacks(stack, version, name)}; {allowed(name, known)}")
            if not known[name].applies_to(protocol):
                raise SettingError(key, f"means nothing with {protocol}, only with {', '.join(known[name].protocols)}")
            value = _knob_value(key, known[name], settings[key])
            _check_condition(key, known[name], known, settings, prefix)
            if value != known[name].default:
                values[name] = value
    return values


def _check_condition(
    key: str, knob: Knob, known: Mapping[str, Knob], settings: Mapping[str, Scalar], prefix: str
) -> None:
    """Raise SettingError where a knob cannot be set beside the values of others that its program has."""
    for name, needed in knob.only_with.items():
        other = f"{prefix}{name}"
        value = settings.get(other, known[name].usual if name in known else None)
        if value not in needed:
            has = "is not set" if value is None else f"is {value}"
            wanted = " or ".join(f"{other} = {choice}" for choice in needed)
            raise SettingError(
                key, f"the program has it only with {wanted}, and {name} {has}: set that too, or leave this out"
            )


def _lacks(stack: Stack, version: str, name: str) -> str:
    knob = stack.knobs.get(name)
    if knob is None or (knob.since is None and knob.until is None):
        return "has no such knob"
    span = [f"since {knob.since}"] * (knob.since is not None) + [f"until {knob.until}"] * (knob.until is not None)
    return f"has it {', '.join(span)}, but not in {version}"


_QUANTITIES: Mapping[str, Callable[[object], int]] = {"bytes": units.parse_size, "bit/s": units.parse_rate}


def _knob_value(key: str, knob: Knob, value: Scalar) -> Scalar:
    if knob.kind is int and isinstance(value, str) and knob.unit is not None and knob.unit in _QUANTITIES:
        try:
            value = _QUANTITIES[knob.unit](value)
        except units.UnitError as error:
            raise SettingError(key, str(error)) from error
    if knob.kind is float and type(value) is int:
        value = float(value)
    if type(value) is not knob.kind:
        noun = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[knob.kind]
        raise SettingError(key, f"must be {noun}{f' ({knob.unit})' if knob.unit else ''}: {knob.help}")
    if knob.choices and value not in knob.choices:
        raise SettingError(key, allowed(value, map(str, knob.choices)))
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = knob.minimum, knob.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            bounds = _bounds(low, high)
            raise SettingError(key, f"must be {bounds}{f' {knob.unit}' if knob.unit else ''}")
    return value


def _bounds(low: float | None, high: float | None) -> str:
    parts = ([] if low is None else [f"at least {low:g}"]) + ([] if high is None else [f"at most {high:g}"])
    return " and ".join(parts)
