"""Resolve settings to the setup of one arm in one cell; the last place where a wrong combination can show."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from longlook.core import (
    BEHIND,
    BOTTLENECKS,
    DURATION,
    EITHER,
    ENDLESS,
    PLAYER_RULES,
    QUIC_ECHO,
    UDP_ECHO,
    Arm,
    ConnectionState,
    Endpoint,
    Knob,
    Level,
    Link,
    Scalar,
    SettingError,
    Stack,
    Study,
    Workload,
    WorkloadKind,
    allowed,
    echoes,
    find_protocol,
    find_tree,
    link_of,
    units,
)
from longlook.network import extra_links, ip, largest_rate_bps
from longlook.network import settings as network
from longlook.study import tcp
from longlook.study.arm_settings import ArmSettings, EndpointSettings, WorkloadSettings
from longlook.study.catalogue import Catalogue
from longlook.study.live import check_live
from longlook.study.requests import check_requests
from longlook.study.settings import (
    PROXY,
    SERVER_CONFIG,
    SPLIT,
    WORKLOAD_PREFIX,
    workload_parameters,
)
from longlook.study.sites import check_site, check_site_load
from longlook.study.uploads import check_upload

_FASTEST_BPS = 10e9

Cell = Mapping[str, Level]
"""Factor name → level."""


_PAYLOAD = "payload"
PAYLOAD = f"{WORKLOAD_PREFIX}{_PAYLOAD}"
_DONT_FRAGMENT, _NEVER = "dont_fragment", "set"


@dataclass(frozen=True)
class Conditions:
    """The conditions that all arms of a cell share."""

    link: Link
    workload: Workload
    further: Mapping[str, Link] = field(default_factory=dict, metadata={"omitted_when_empty": True})
    ip: int = field(default=0, metadata={"omitted_when_empty": True})  # `Trial.ip`


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
    """Return the study's settings with the settings of the cell's levels over them."""
    settings = dict(study.settings)
    for level in cell.values():
        settings.update(level.sets)
    return settings


def resolve_conditions(settings: Mapping[str, Scalar], catalogue: Catalogue, *, ask_router: bool = True) -> Conditions:
    """Return link and workload of a cell's settings; SettingError if they cannot be.

    Without `ask_router` the router itself does not check the link, which costs the start of a program.
    """
    kind = WorkloadSettings.of(settings, catalogue).kind
    parameters = workload_parameters(kind, settings)
    make_link = network.link if ask_router else network.unchecked_link
    link = make_link(settings)
    if kind.competes and DURATION in parameters:
        parameters[ENDLESS] = _more_than_passes(link, float(parameters[DURATION]))
    further = extra_links.links(settings, make_link)
    return Conditions(link, Workload(kind.name, parameters), further, ip.version(settings))


def _more_than_passes(link: Link, duration_s: float) -> int:
    """Return more bytes than a flow gets in that time: a power of two, so that few files serve all cells."""
    rates = [largest_rate_bps(stage) for stage in link.down if stage.kind in BOTTLENECKS]
    return 1 << math.ceil(math.log2(min(rates, default=_FASTEST_BPS) / 8 * duration_s * 1.1 + 1e6))


def has_own_link(arm: Arm) -> bool:
    """Whether an arm makes a setting of the path, so that its link is not the cell's.

    Arms of study files make the settings of ARM_CONDITIONS alone, counterfactual arms any.
    """
    return any(key.startswith("network.") or link_of(key) for key in arm.settings)


def split_workload(workload: Workload, split: int) -> Workload:
    """Return the workload with each object in `split` parts of one size, each over a connection of its own.

    A player asks for parts of its segments itself.
    """
    if split == 1:
        return workload
    if "object_bytes" not in workload.parameters:
        return replace(workload, parameters={**workload.parameters, "connections": split})
    part_bytes = -(-int(workload.parameters["object_bytes"]) // split)
    return replace(workload, parameters={**workload.parameters, "object_bytes": part_bytes, "connections": split})


def resolve_flow_setup(arm: ArmSettings, catalogue: Catalogue) -> FlowSetup:
    """Return the setup of an arm with one flow, or of a group of flows, whose settings `arm` has.

    Raise SettingError if a program cannot do what is asked.
    """
    for key, value in (
        *(("protocol", arm.protocol), ("connection", arm.connection)),
        *(("server", arm.server.stack), ("client", arm.client.stack)),
    ):
        if value is None:
            raise SettingError(
                key, f"missing: set it for the arm, or for all arms under [defaults] ({_HELP[key]})", absent=True
            )
    protocol, connection = str(arm.protocol), ConnectionState(str(arm.connection))
    protocols = sorted({EITHER.name, *(name for stack in catalogue.stacks.values() for name in stack.protocols)})
    if protocol not in protocols:
        raise SettingError("protocol", f"no stack speaks it; {allowed(protocol, protocols)}")
    check_echo(arm, protocol)
    check_live(arm, protocol)
    endpoints = {}
    for end in (arm.server, arm.client):
        stack, version = find_stack(end.role, str(end.stack), catalogue)
        check_ip(end, stack, arm)
        _check_abilities(end.role, stack, version, protocol, connection)
        if end is arm.client:
            _check_connections(stack, arm, catalogue)
            _check_waits(stack, connection, arm.workload, catalogue)
            _check_priorities(stack, arm.workload, catalogue)
            _check_plays(stack, protocol, connection, arm, catalogue)
            check_requests(stack, arm, catalogue)
        check_upload(end, stack, arm, protocol, catalogue)
        if end.config is not None:
            _check_config(stack, catalogue)
        endpoints[end.role] = Endpoint(stack.name, version, _knobs(end, stack, version, protocol), end.config)
    congestion_control = None
    check_site_load(arm, outside=catalogue.stacks[endpoints["server"].stack].outside)
    if catalogue.stacks[endpoints["server"].stack].outside:
        check_site(arm, endpoints, catalogue)
    elif find_protocol(protocol).kernel_tcp:
        congestion_control = arm.tcp.congestion_control
        if congestion_control is None:
            message = 'missing: TCP\'s must be explicit, for example congestion_control = "cubic" or tcp = "stock"'
            raise SettingError(tcp.CONGESTION_CONTROL, message, absent=True)
    elif arm.tcp.stated:
        raise SettingError(arm.tcp.stated[0], _of_the_program(arm, protocol, endpoints["server"], catalogue))
    proxy = _proxy(arm, protocol, connection, catalogue)
    return FlowSetup(protocol, connection, congestion_control, endpoints["server"], endpoints["client"], proxy)


def _of_the_program(arm: ArmSettings, protocol: str, server: Endpoint, catalogue: Catalogue) -> str:
    """Return why a setting of the kernel's TCP cannot be, and the knob of the server that means the same, if any."""
    key = arm.tcp.stated[0]
    why = f"sets the kernel's TCP, which {protocol} does not use"
    stack = catalogue.stacks[server.stack]
    name = next((name for name, setting in tcp.OF_KNOB.items() if setting == key and name in stack.knobs), None)
    if name is None:
        return f"{why}; {stack.name} has no knob for it"
    value = f' = "{arm.tcp.congestion_control}"' if key == tcp.CONGESTION_CONTROL else ""
    tunable = [each for each in stack.with_knobs(server.version) if name in stack.knobs_of(each, "server")]
    where = "" if server.version in tunable else f' beside server = "{stack.name}@{tunable[0]}"' if tunable else ""
    lacks = "" if tunable else f" ({_lacks(stack, server.version, name)})"
    return f"{why}: write server_knobs.{name}{value}{where}{lacks}"


def _proxy(arm: ArmSettings, protocol: str, connection: ConnectionState, catalogue: Catalogue) -> Endpoint | None:
    """Return the proxy of an arm, or None if it has none."""
    end = arm.proxy
    if end.stack is None:
        if end.knobs and not arm.proxy_is_off:
            message = 'there is no proxy: write for example proxy = "haproxy", or leave this out'
            raise SettingError(end.key(next(iter(end.knobs))), message)
        return None
    stack, version = find_stack(PROXY, end.stack, catalogue)
    check_ip(end, stack, arm)
    if BEHIND not in arm.path.further:
        message = "stands between two links: add the table [behind], with rate and rtt of the link to the server"
        raise SettingError(PROXY, message)
    _check_abilities(PROXY, stack, version, protocol, connection)
    return Endpoint(stack.name, version, _knobs(end, stack, version, protocol))


_PLAYER = "player"
_IDLE, _WARM = "idle", "warm"
_PRIORITIES = "priorities"
_HELP = {
    "protocol": "h3 or h2, or another that a stack declares (longlook stacks list)",
    "connection": "cold, resumed or 0rtt",
    "server": "a stack, for example quic-go or quic-go@0.65.0",
    "client": "a stack, for example quic-go or chromium",
}


def find_stack(role: str, text: str, catalogue: Catalogue) -> tuple[Stack, str]:
    """Return stack and version of `name` or `name@version`; SettingError with the nearest name if there is none."""
    name, at, version = text.partition("@")
    stack = catalogue.stacks.get(name)
    if stack is None or role not in stack.roles:
        fitting = [known.name for known in catalogue.stacks.values() if role in known.roles]
        problem = f"no stack {name!r}" if stack is None else f"stack {name!r} has no {role}"
        raise SettingError(role, f"{problem}; {allowed(name, fitting)}")
    if at and version not in stack.version_names and find_tree(name, version) is None:
        raise SettingError(role, f"stack {name} has no version {version!r}; {allowed(version, stack.version_names)}")
    return stack, version or stack.default_version


def _check_abilities(role: str, stack: Stack, version: str, protocol: str, connection: ConnectionState) -> None:
    protocols, connections = stack.protocols_of(version), stack.connections_of(version, protocol)
    program = f"{role} {stack.name}" + (f"@{version}" if len(stack.versions) > 1 else "")
    if not stack.speaks(version, protocol, role):
        own = (each for each in (*protocols, EITHER.name) if stack.speaks(version, each, role))
        raise SettingError("protocol", f"{program} does not speak it, but {', '.join(own)}")
    if connection not in connections:
        raise SettingError("connection", f"{program} cannot do this over {protocol}, but {', '.join(connections)}")


def check_ip(end: EndpointSettings, stack: Stack, arm: ArmSettings) -> None:
    """Raise SettingError if the path has a version of IP that a program, or its use here, does not have."""
    if arm.path.ip != 6:
        return
    if not stack.ipv6:
        raise SettingError(ip.IP, f'{end.role} {stack.name} has IPv4 alone: take another, or network.ip = "4"')
    if lacking := [name for name in stack.ipv4_knobs if end.knobs.get(name)]:
        raise SettingError(
            end.key(lacking[0]), f'{stack.name} does this over IPv4 alone: leave it out, or network.ip = "4"'
        )


def _check_config(server: Stack, catalogue: Catalogue) -> None:
    if not server.server_config:
        able = [name for name, stack in catalogue.stacks.items() if stack.server_config]
        message = f"server {server.name} takes no configuration of yours; servers that do: {', '.join(able) or 'none'}"
        raise SettingError(SERVER_CONFIG, message)


def _check_connections(client: Stack, arm: ArmSettings, catalogue: Catalogue) -> None:
    split, connections, kind = arm.split, arm.workload.connections, arm.workload.kind
    able = [name for name, each in catalogue.workloads.items() if _may_be_split(each)]
    if split > 1 and kind.name not in able:
        raise SettingError(SPLIT, f"workload {kind.name} fetches over one connection; use {', '.join(able)}")
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
    client: Stack, protocol: str, connection: ConnectionState, arm: ArmSettings, catalogue: Catalogue
) -> None:
    if not arm.workload.kind.plays:
        if _PLAYER in arm.client.knobs and client.players:
            raise SettingError(arm.client.key(_PLAYER), "a player is for workload video")
        return
    if not client.plays:
        able = [name for name, stack in catalogue.stacks.items() if stack.plays]
        raise SettingError(
            "client", f"client {client.name} plays no video; clients that do: {', '.join(able) or 'none'}"
        )
    if client.players:
        _check_player(client, connection, arm)
    if protocol == EITHER.name:
        raise SettingError("protocol", "a player speaks one protocol; allowed with workload video: h3, h2")


def _check_player(client: Stack, connection: ConnectionState, arm: ArmSettings) -> None:
    """Raise SettingError if a client that needs a player has none, or cannot play what the workload asks for."""
    workload = arm.workload
    player, quality = arm.client.knobs.get(_PLAYER), str(workload.values.get("quality"))
    if player not in client.players:
        raise SettingError(
            arm.client.key(_PLAYER),
            f"client {client.name} plays a video with a player of its page: {' or '.join(client.players)}",
        )
    if workload.values.get("content", "noise") != "cmaf":
        raise SettingError(workload.key("content"), f'{player} shows pictures: give content = "cmaf"')
    rules = client.players[str(player)]
    if quality in PLAYER_RULES and quality not in rules:
        raise SettingError(workload.key("quality"), f"rules of {player}: {', '.join(rules) or 'none'}; or name a rung")
    if connection is not ConnectionState.COLD:
        raise SettingError("connection", f'{player} plays over a new connection: give connection = "cold"')
    start_ns, resume_ns = workload.time_ns("start"), workload.time_ns("resume")
    buffer_ns, segment_ns = workload.time_ns("buffer", "30s"), workload.time_ns("segment", "4s")
    if buffer_ns < 2 * segment_ns:
        raise SettingError(workload.key("buffer"), f"{player} holds two segments at least: give a longer buffer")
    if start_ns > buffer_ns - segment_ns:
        raise SettingError(workload.key("start"), f"{player} starts with a segment less than the buffer, or earlier")
    if player == "shaka" and start_ns != resume_ns:
        raise SettingError(workload.key("resume"), "start and resume of shaka are one setting: give the same to both")
    if player == "dash.js" and resume_ns != 0:
        raise SettingError(workload.key("resume"), "dash.js has no buffer with which it resumes: 0s alone")


def _check_waits(client: Stack, connection: ConnectionState, workload: WorkloadSettings, catalogue: Catalogue) -> None:
    for parameter in (_IDLE, _WARM):
        if workload.time_ns(parameter) == 0:
            continue
        key = workload.key(parameter)
        if not client.waits:
            able = [name for name, stack in catalogue.stacks.items() if stack.waits]
            raise SettingError(key, f"client {client.name} never waits; clients that do: {', '.join(able) or 'none'}")
        if parameter == _WARM and connection is ConnectionState.ZERO_RTT:
            raise SettingError(key, "a warm connection has its handshake behind it; allowed with it: cold, resumed")


def _check_priorities(client: Stack, workload: WorkloadSettings, catalogue: Catalogue) -> None:
    if _PRIORITIES not in workload.values or client.priorities:
        return
    able = [name for name, stack in catalogue.stacks.items() if stack.priorities]
    own = "chooses the priorities of its requests itself" if client.paints else "sends no priorities"
    raise SettingError(
        workload.key(_PRIORITIES),
        f"client {client.name} {own}; clients that send what a study sets: {', '.join(able) or 'none'}",
    )


def _knobs(end: EndpointSettings, stack: Stack, version: str, protocol: str) -> dict[str, Scalar]:
    """Return a program's knobs that differ from the stack's defaults."""
    known = stack.knobs_of(version, end.role)
    values: dict[str, Scalar] = {}
    for name in sorted(end.knobs):
        key = end.key(name)
        if name not in known:
            lacks = _lacks(stack, version, name)
            raise SettingError(key, f"{end.role} {stack.name} {lacks}; {allowed(name, known)}")
        if not known[name].applies_to(protocol):
            raise SettingError(key, f"means nothing with {protocol}, only with {', '.join(known[name].protocols)}")
        value = _knob_value(key, known[name], end.knobs[name])
        _check_condition(end, name, known)
        if value != known[name].default:
            values[name] = value
    return values


def _check_condition(end: EndpointSettings, name: str, known: Mapping[str, Knob]) -> None:
    """Raise SettingError if a knob cannot be set beside the values of others that its program has."""
    for other, needed in known[name].only_with.items():
        value = end.knobs.get(other, known[other].usual if other in known else None)
        if value not in needed:
            has = "is not set" if value is None else f"is {value}"
            wanted = " or ".join(f"{end.key(other)} = {choice}" for choice in needed)
            raise SettingError(
                end.key(name),
                f"the program has it only with {wanted}, and {other} {has}: set that too, or leave this out",
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


def check_echo(arm: ArmSettings, protocol: str) -> None:
    """Raise SettingError if protocol, workload and sizes do not fit together.

    A sweep may go beyond what leaves the interface in one piece, which is one of its results. A workload of which
    nothing at all could leave is a mistake.
    """
    values = arm.workload.values
    if not arm.workload.kind.echoes:
        if find_protocol(protocol).echoes:
            raise SettingError("protocol", f"fetches nothing: {protocol} is for workload echo; use h3 or h2 here")
        return
    allowed = f"{UDP_ECHO.name} or {QUIC_ECHO.name}"
    if not find_protocol(protocol).echoes:
        raise SettingError("protocol", f"workload echo sends datagrams that its server answers; use {allowed}")
    if _PAYLOAD not in values:
        return  # the workload's own check says so
    sizes = echoes.payloads(str(values[_PAYLOAD]))
    if protocol == QUIC_ECHO.name and sizes[0] < echoes.SMALLEST_QUIC_BYTES:
        least = echoes.SMALLEST_QUIC_BYTES
        raise SettingError(PAYLOAD, f"{sizes[0]} bytes: a first packet of QUIC has {least} B or more (RFC 9000, 14.1)")
    if sizes[0] <= echoes.LARGEST_WHOLE_BYTES:
        return
    for end in (arm.client, arm.server):
        key, in_quic = end.key(_DONT_FRAGMENT), protocol == QUIC_ECHO.name
        if in_quic or end.knobs.get(_DONT_FRAGMENT, _NEVER) == _NEVER:
            way_out = "" if in_quic else f', or {key} = "unset" or "kernel", which lets it be fragmented'
            raise SettingError(
                PAYLOAD,
                f"a datagram of {sizes[0]} bytes never leaves an interface with an MTU of "
                f"{echoes.INTERFACE_MTU_BYTES} B in one piece: at most {echoes.LARGEST_WHOLE_BYTES} B{way_out}",
            )
