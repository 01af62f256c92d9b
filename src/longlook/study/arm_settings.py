"""The settings of one arm in one cell, read once from their dotted keys into types. Pure.

An arm's settings lie over the settings of a cell's levels, and these over a study's; named sets of settings of TCP lie
beneath. Every check of an arm reads `ArmSettings`, whose values are in canonical form (`settings` makes it). For
messages, `key` methods return the name under which people wrote a value.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from longlook.core import (
    MAIN_SETTINGS,
    SITE,
    URL,
    Arm,
    ConnectionState,
    Protocol,
    Scalar,
    ServerConfig,
    WorkloadKind,
    find_protocol,
    is_site_url,
    link_of,
    names_in,
    units,
)
from longlook.network import ip
from longlook.network import settings as network
from longlook.study import processors
from longlook.study.catalogue import Catalogue
from longlook.study.settings import (
    NO_CPU_LIMIT,
    NO_PROXY,
    PROXY,
    SPLIT,
    STALE_TICKETS,
    WORKLOAD_PREFIX,
    is_flow_setting,
    parse_config,
)
from longlook.study.tcp import TcpSettings, with_presets

CLIENT_CPU = "client_cpu"


@dataclass(frozen=True)
class EndpointSettings:
    """A program in a role: `stack` is `name` or `name@version`, None if nothing names it; `knobs` are those set.

    `config` is a server's configuration that the user brings, None if there is none.
    """

    role: str
    stack: str | None
    knobs: Mapping[str, Scalar]
    config: ServerConfig | None = None

    @classmethod
    def of(cls, role: str, settings: Mapping[str, Scalar]) -> "EndpointSettings":
        """Return a role's part of an arm's settings."""
        prefix = f"{role}_knobs."
        knobs = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
        config = parse_config(settings.get(f"{role}_config"))
        stack = str(settings[role]) if role in settings else None
        if role == "server" and is_site_url(stack):
            return cls(role, SITE, {**knobs, URL: str(stack)}, config)
        return cls(role, stack, knobs, config)

    def key(self, knob: str) -> str:
        """Return the key of one of its knobs in a study file."""
        return f"{self.role}_knobs.{knob}"


@dataclass(frozen=True)
class PathSettings:
    """The links of an arm's path. `further` maps the name of each further link to the first key that sets it."""

    settings: Mapping[str, Scalar]  # as `network.settings.link` reads them
    further: Mapping[str, str]
    main_is_own: bool  # the arm itself sets the main link
    further_is_own: bool  # the arm itself sets a further link
    ip: int  # `Trial.ip`
    ip_is_own: bool  # the arm itself sets the version of IP

    @classmethod
    def of(cls, settings: Mapping[str, Scalar], arm: Arm) -> "PathSettings":
        """Return the part of an arm's settings that makes its links; `arm` has its own alone."""
        return cls(
            settings=settings,
            further={name: next(key for key in settings if link_of(key) == name) for name in names_in(settings)},
            main_is_own=any(key.startswith(MAIN_SETTINGS) and key != ip.IP for key in arm.settings),
            further_is_own=bool(names_in(arm.settings)),
            ip=ip.version(settings),
            ip_is_own=ip.IP in arm.settings,
        )


@dataclass(frozen=True)
class WorkloadSettings:
    """The kind of a workload, and what is set of it: parameter without unit, e.g. `object` → canonical value."""

    kind: WorkloadKind
    values: Mapping[str, Scalar]

    @classmethod
    def of(cls, settings: Mapping[str, Scalar], catalogue: Catalogue) -> "WorkloadSettings":
        """Return the part of settings that is about the workload."""
        values = {
            key.removeprefix(WORKLOAD_PREFIX): value
            for key, value in settings.items()
            if key.startswith(WORKLOAD_PREFIX)
        }
        return cls(catalogue.workloads[str(values.pop("kind"))], values)

    @staticmethod
    def key(parameter: str) -> str:
        """Return the key of a parameter in a study file."""
        return f"{WORKLOAD_PREFIX}{parameter}"

    def time_ns(self, parameter: str, usual: str = "0s") -> int:
        """Return a length of time in ns, the usual one if none is set."""
        return units.parse_time(self.values.get(parameter, usual))

    @property
    def connections(self) -> int:
        """Return over how many connections its client fetches everything."""
        return int(self.values.get(network.CONNECTIONS.removeprefix(WORKLOAD_PREFIX), 1))


@dataclass(frozen=True)
class ArmSettings:
    """All settings that apply to an arm in a cell."""

    workload: WorkloadSettings
    path: PathSettings
    protocol: str | None  # None: missing, as of an arm whose flows each have their own
    connection: ConnectionState | None
    server: EndpointSettings
    client: EndpointSettings
    proxy: EndpointSettings  # its stack is None if there is none
    proxy_is_off: bool  # the settings say that there is none
    tcp: TcpSettings
    engine: str | None
    client_cpu_share: float | None  # of one CPU; None: no limit
    processors: Mapping[str, Scalar]  # role → processor in virtual time
    split: int  # connections over which each object is fetched, a part over each
    stale_tickets: float  # share of the rounds
    for_one_client: tuple[str, ...]  # keys that are set, though several clients cannot have them
    tickets_are_own: bool  # the arm itself sets `stale_tickets`
    has_flows: bool  # the arm itself sets flows
    of_flows: Mapping[str, Scalar]  # `flows.GROUP.KEY` → value

    @classmethod
    def of(cls, arm: Arm, settings: Mapping[str, Scalar], catalogue: Catalogue) -> "ArmSettings":
        """Return what applies to an arm in a cell whose shared settings are `settings`."""
        own = with_presets(settings, arm.settings)
        proxy = EndpointSettings.of(PROXY, own)
        cpu = own.get(CLIENT_CPU, NO_CPU_LIMIT)
        return cls(
            workload=WorkloadSettings.of(own, catalogue),
            path=PathSettings.of(own, arm),
            protocol=str(own["protocol"]) if "protocol" in own else None,
            connection=ConnectionState(str(own["connection"])) if "connection" in own else None,
            server=EndpointSettings.of("server", own),
            client=EndpointSettings.of("client", own),
            proxy=EndpointSettings(PROXY, None, proxy.knobs) if proxy.stack == NO_PROXY else proxy,
            proxy_is_off=proxy.stack == NO_PROXY,
            tcp=TcpSettings.of(own, arm.settings),
            engine=str(own["engine"]) if "engine" in own else None,
            client_cpu_share=None if cpu == NO_CPU_LIMIT else float(units.parse_share(cpu)),
            processors={role: own[key] for key, role in processors.KEYS.items() if key in own},
            split=int(own.get(SPLIT, 1)),
            stale_tickets=float(units.parse_share(own.get(STALE_TICKETS, "0%"))),
            for_one_client=tuple(key for key in (STALE_TICKETS, SPLIT) if key in own),
            tickets_are_own=STALE_TICKETS in arm.settings,
            has_flows=any(is_flow_setting(key) for key in arm.settings),
            of_flows={key: value for key, value in own.items() if is_flow_setting(key)},
        )

    @property
    def spoken(self) -> Protocol:
        """Return its protocol; one that is missing counts as one over the kernel's TCP."""
        return find_protocol(self.protocol or "")

    def endpoint(self, role: str) -> EndpointSettings:
        """Return the program of a role, `server`, `client` or `proxy`."""
        return {"server": self.server, "client": self.client, PROXY: self.proxy}[role]
