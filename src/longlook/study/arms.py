"""A whole arm in a cell: its one setup or its competing flows; and the settings in which arms differ. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from longlook.core import (
    BEHIND,
    MULTIPATH,
    PREFERRED_ADDRESS,
    SECOND,
    Arm,
    ConnectionState,
    Link,
    Processor,
    Scalar,
    SettingError,
    Study,
    find_protocol,
)
from longlook.network import extra_links, ip
from longlook.network import settings as network
from longlook.study import tcp
from longlook.study.arm_settings import CLIENT_CPU, ArmSettings
from longlook.study.catalogue import Catalogue
from longlook.study.flow_groups import FlowGroup, groups_of
from longlook.study.laws import uniform
from longlook.study.processors import processors
from longlook.study.resolve import FlowSetup, resolve_flow_setup
from longlook.study.settings import (
    ENDPOINT_KEYS,
    PROXY,
    SERVER_CONFIG,
    STALE_TICKETS,
    is_flow_setting,
    parse_config,
)


@dataclass(frozen=True)
class ResolvedArm:
    """An arm as it enters a cell: its programs, and the measurement's settings in which it differs from other arms."""

    setup: FlowSetup  # of several groups of flows, the first one's
    groups: tuple[FlowGroup, ...] = ()
    link: Link | None = None  # None: the cell's
    further: Mapping[str, Link] = field(default_factory=dict)  # `Trial.further`; empty: the cell's
    ip: int | None = None  # `Trial.ip`; None: the cell's
    engine: str | None = None  # None: the one that the run was started with
    tcp: Mapping[str, Scalar] = field(default_factory=dict)  # `Trial.tcp`
    client_cpu_share: float | None = None  # of one CPU; None: no limit
    split: int = 1  # connections over which each object is fetched, a part over each
    processors: Mapping[str, Processor] = field(default_factory=dict)  # `Trial.processors`
    stale_tickets: float = 0.0
    """Share of the rounds in which the client has no ticket that counts, and so a cold connection."""

    def in_round(self, seed: int, number: int) -> "ResolvedArm":
        """Return the arm as it is in a round of a study with this seed.

        One draw a round is for all arms and cells: where a smaller share of tickets is stale, a larger one is too.
        """
        if uniform("tickets", seed, number) >= self.stale_tickets:
            return self
        return replace(self, setup=replace(self.setup, connection=ConnectionState.COLD))


def resolve_arm(
    arm: Arm, settings: Mapping[str, Scalar], catalogue: Catalogue, *, ask_router: bool = True
) -> ResolvedArm:
    """Return the arm in a cell with these settings; SettingError if it cannot be.

    Without `ask_router` the router itself does not check links, which costs the start of a program.
    """
    own = ArmSettings.of(arm, settings, catalogue)
    make_link = network.link if ask_router else network.unchecked_link
    link = make_link(own.path.settings) if own.path.main_is_own else None
    programs = {end.role: end.stack for end in (own.client, own.server)}
    over_tcp_alone = not any(find_protocol(name).quic for name in own.spoken.spoken)
    costs = processors(own.processors, programs, over_tcp=over_tcp_alone)
    further = extra_links.links(own.path.settings, make_link) if own.path.further_is_own else {}
    _check_path(own, catalogue)
    _check_ip(own, catalogue)
    groups: tuple[FlowGroup, ...] = ()
    kind = own.workload.kind
    if kind.competes or (kind.plays and own.has_flows):
        _check_shared(own)
        groups = groups_of(arm, settings, catalogue)
        setups = [group.setup for group in groups]
        over_tcp = any(setup.congestion_control for setup in setups)
    else:
        setups = [_only_setup(own, catalogue)]
        over_tcp = own.spoken.kernel_tcp
    own.tcp.check(*(setup.congestion_control for setup in setups))
    return ResolvedArm(
        setup=setups[0],
        groups=groups,
        link=link,
        further=further,
        ip=own.path.ip if own.path.ip_is_own else None,
        engine=own.engine,
        tcp=own.tcp.parameters() if over_tcp else {},
        client_cpu_share=own.client_cpu_share,
        split=own.split,
        processors=costs,
        stale_tickets=0.0 if groups else _stale_tickets(own, setups[0]),
    )


def _only_setup(own: ArmSettings, catalogue: Catalogue) -> FlowSetup:
    """Return the setup of an arm whose flow does not compete."""
    setup = resolve_flow_setup(own, catalogue)
    if find_protocol(setup.protocol).cross_traffic:
        message = f"{setup.protocol} is cross traffic alone, which only the workload compete has (flows.GROUP)"
        raise SettingError("protocol", message)
    return setup


def _check_shared(own: ArmSettings) -> None:
    """Raise SettingError if an arm of several clients has a setting that is for one client."""
    if own.client_cpu_share is not None:
        raise SettingError(CLIENT_CPU, "is for one client; of several that compete none can be limited")
    if own.for_one_client:
        raise SettingError(own.for_one_client[0], "is for one client; leave it out where several compete")


def _check_path(own: ArmSettings, catalogue: Catalogue) -> None:
    """Raise SettingError if a trial cannot have the further links that its settings make."""
    keys = own.path.further
    if SECOND not in keys and own.tcp.multipath and not own.spoken.quic:
        raise SettingError(tcp.MULTIPATH, "has one path only: give the study a second link, [second]")
    if own.tcp.values.get(tcp.MULTIPATH_BACKUP) and not own.tcp.multipath:
        raise SettingError(tcp.MULTIPATH_BACKUP, "is about the second subflow of Multipath TCP: set tcp_multipath")
    _check_multipath_quic(own)
    if SECOND in keys and BEHIND in keys:
        raise SettingError(keys[SECOND], "a path with a middle has no second path beside it: leave one of them out")
    _check_preferred_address(own)
    client = catalogue.stacks.get((own.client.stack or "").partition("@")[0])
    if SECOND in keys and client is not None and (client.remote or client.session_command is not None):
        message = f"client {client.name} stays between trials, on one path: leave [second] out, or take another client"
        raise SettingError(keys[SECOND], message)
    if SECOND in keys and own.client_cpu_share is not None:
        raise SettingError(CLIENT_CPU, "limits a client on one path: leave it or [second] out")
    if keys and (own.workload.kind.competes or own.has_flows):
        name, key = next(iter(keys.items()))
        raise SettingError(key, f"competing flows share one link: leave [{name}] out, or use another workload")
    if keys and client is not None and client.remote:
        message = f"client {client.name} is another machine, whose path has one link here: leave [behind] out"
        raise SettingError(keys[BEHIND], message)


def _check_ip(own: ArmSettings, catalogue: Catalogue) -> None:
    """Raise SettingError if the laboratory has a part of an arm's path over IPv4 alone."""
    if own.path.ip != 6:
        return
    if SECOND in own.path.further:
        message = f'routes by the source of packets, which the guest kernel does over IPv4 alone: use {ip.IP} = "4"'
        raise SettingError(own.path.further[SECOND], message)
    client = catalogue.stacks.get((own.client.stack or "").partition("@")[0])
    if client is not None and client.remote:
        raise SettingError(ip.IP, f'client {client.name} is another machine, reached over IPv4 alone: use "4"')


def _check_multipath_quic(own: ArmSettings) -> None:
    ends = (own.client, own.server)
    given = [end.key(MULTIPATH) for end in ends if MULTIPATH in end.knobs]
    if not given:
        return
    if len(given) < len(ends):
        (missing,) = {end.key(MULTIPATH) for end in ends} - set(given)
        raise SettingError(given[0], f"needs the other end, too: set {missing}")
    if SECOND not in own.path.further:
        raise SettingError(given[0], "has one path only: give the study a second link, [second]")


def _check_preferred_address(own: ArmSettings) -> None:
    key = own.server.key(PREFERRED_ADDRESS)
    of_flow = next((name for name, value in own.of_flows.items() if name.endswith(f".{key}") and value), None)
    if of_flow is not None:
        raise SettingError(of_flow, "is for one client: servers of flows that compete have one address each")
    if own.server.knobs.get(PREFERRED_ADDRESS) and BEHIND in own.path.further:
        raise SettingError(key, "a path with a middle leads to one address of the server: leave it or [behind] out")


def _stale_tickets(own: ArmSettings, setup: FlowSetup) -> float:
    if own.stale_tickets and own.tickets_are_own and setup.connection is ConnectionState.COLD:
        raise SettingError(STALE_TICKETS, "a cold connection has no ticket; set connection to resumed or 0rtt")
    return own.stale_tickets


def arm_differences(study: Study, catalogue: Catalogue) -> dict[str, dict[str, Scalar]]:
    """Return, for each arm, its values of the settings in which the study's arms differ.

    Keys are as in a study file; a setting that an arm does not have is left out. A stack is named with the version that
    runs, and a preset of TCP by the settings that it stands for. A group of flows has the arm's own settings if it
    has none for itself. Factors do not count: they are the same for all arms.
    """
    owned = {arm.name: _settings_of(arm, study.settings, catalogue) for arm in study.arms}
    keys = dict.fromkeys(key for settings in owned.values() for key in settings)
    values = {name: {key: _value(settings, key) for key in keys} for name, settings in owned.items()}
    differing = [key for key in keys if len({repr(own[key]) for own in values.values()}) > 1]
    return {
        name: {key: value for key, value in own.items() if key in differing and value is not None}
        for name, own in values.items()
    }


def _value(settings: Mapping[str, Scalar], key: str) -> Scalar | None:
    """Return the value of a key for an arm, or for a group of its flows; None if it has none."""
    if key in settings or not is_flow_setting(key):
        return settings.get(key)
    flows, group, name = key.split(".", 2)
    return settings.get(name) if any(known.startswith(f"{flows}.{group}.") for known in settings) else None


def _settings_of(arm: Arm, common: Mapping[str, Scalar], catalogue: Catalogue) -> dict[str, Scalar]:
    """Return an arm's settings that concern it, in the order in which people name them."""
    settings = tcp.with_presets(common, arm.settings)
    settings.pop(tcp.PRESET, None)
    if find_protocol(str(settings.get("protocol"))).quic:
        settings = {key: value for key, value in settings.items() if not _is_tcp(key) or key in arm.settings}
    for key, value in settings.items():
        role = key.rpartition(".")[2]
        stack = catalogue.stacks.get(str(value))
        if role in ("server", "client", PROXY) and stack is not None and stack.versions:
            settings[key] = f"{stack.name}@{stack.default_version}"
    _name_configs(settings)
    first = [key for key in ENDPOINT_KEYS if key in settings]
    return {key: settings[key] for key in (*first, *sorted(settings.keys() - set(first)))}


def _name_configs(settings: dict[str, Scalar]) -> None:
    """Name each own configuration with its server, as in `nginx@1.26.3 (my.conf 4f2a91c)`."""
    for key in [key for key in settings if key.rpartition(".")[2] == SERVER_CONFIG]:
        config, server = parse_config(settings[key]), key.removesuffix("_config")
        if config is not None and server in settings:
            settings[server] = f"{settings[server]} ({config.label})"
            del settings[key]
        elif config is not None:
            settings[key] = config.label


def _is_tcp(key: str) -> bool:
    return key == tcp.CONGESTION_CONTROL or key in tcp.SETTINGS
