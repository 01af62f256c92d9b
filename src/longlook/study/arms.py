"""A whole arm in a cell: its one setup or its competing flows; and the settings in which arms differ. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from longlook.core import units
from longlook.core.flows import MULTIPATH, PREFERRED_ADDRESS
from longlook.core.links import BEHIND, SECOND, link_of, names_in
from longlook.core.model import Arm, ConnectionState, Scalar, Study
from longlook.core.problems import SettingError
from longlook.core.protocol import find_protocol
from longlook.study import tcp
from longlook.study.catalogue import Catalogue
from longlook.study.flow_groups import Group, groups_of, is_flow_setting
from longlook.study.resolve import Circumstances, FlowSetup, resolve_circumstances, resolve_flow_setup
from longlook.study.seeded import uniform
from longlook.study.settings import ENDPOINT_KEYS, PROXY, SPLIT, STALE_TICKETS, WORKLOAD_PREFIX


@dataclass(frozen=True)
class ResolvedArm:
    """An arm as it enters a cell. Of several groups of flows, `setup` is the first one's."""

    setup: FlowSetup
    circumstances: Circumstances
    groups: tuple[Group, ...] = ()
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
    """Return the arm in a cell with these settings; SettingError where it cannot be."""
    how = resolve_circumstances(arm, settings, ask_router=ask_router)
    _check_further(arm, settings, catalogue)
    kind = catalogue.workloads[str(settings[f"{WORKLOAD_PREFIX}kind"])]
    players = kind.plays and any(is_flow_setting(key) for key in arm.settings)
    if not kind.competes and not players:
        setup = resolve_flow_setup(arm, settings, catalogue)
        if find_protocol(setup.protocol).cross_traffic:
            message = f"{setup.protocol} is cross traffic alone, which only the workload compete has (flows.GROUP)"
            raise SettingError("protocol", message)
        _check_tcp(arm, settings, setup.congestion_control)
        return ResolvedArm(setup, how, stale_tickets=_stale_tickets(arm, settings, setup))
    if how.client_cpu_share is not None:
        raise SettingError("client_cpu", "is for one client; of several that compete none can be limited")
    for key in (STALE_TICKETS, SPLIT):
        if key in {**settings, **arm.settings}:
            raise SettingError(key, "is for one client; leave it out where several compete")
    groups = groups_of(arm, settings, catalogue)
    over_tcp = any(group.setup.congestion_control for group in groups)
    _check_tcp(arm, settings, *(group.setup.congestion_control for group in groups))
    how = replace(how, tcp=tcp.parameters(tcp.with_presets(settings, arm.settings)) if over_tcp else {})
    return ResolvedArm(groups[0].setup, how, groups)


def _check_further(arm: Arm, settings: Mapping[str, Scalar], catalogue: Catalogue) -> None:
    """Raise SettingError where a trial cannot have the further links that its settings make."""
    own = {**settings, **arm.settings}
    keys = {name: next(key for key in own if link_of(key) == name) for name in names_in(own)}
    if SECOND not in keys and own.get("tcp_multipath") and not find_protocol(str(own.get("protocol"))).quic:
        raise SettingError("tcp_multipath", "has one path only: give the study a second link, [second]")
    if own.get("tcp_multipath_backup") and not own.get("tcp_multipath"):
        raise SettingError("tcp_multipath_backup", "is about the second subflow of Multipath TCP: set tcp_multipath")
    _check_multipath_quic(own, has_second=SECOND in keys)
    if SECOND in keys and BEHIND in keys:
        raise SettingError(keys[SECOND], "a path with a middle has no second path beside it: leave one of them out")
    _check_preferred_address(own, has_middle=BEHIND in keys)
    client = catalogue.stacks.get(str(own.get("client", "")).partition("@")[0])
    if SECOND in keys and client is not None and (client.remote or client.session_command is not None):
        message = f"client {client.name} stays between trials, on one path: leave [second] out, or take another client"
        raise SettingError(keys[SECOND], message)
    if SECOND in keys and "client_cpu" in own and own["client_cpu"] != "off":
        raise SettingError("client_cpu", "limits a client on one path: leave it or [second] out")
    competes = catalogue.workloads[str(settings[f"{WORKLOAD_PREFIX}kind"])].competes
    if keys and (competes or any(is_flow_setting(key) for key in arm.settings)):
        name = next(iter(keys))
        raise SettingError(keys[name], f"competing flows share one link: leave [{name}] out, or use another workload")
    if keys and client is not None and client.remote:
        message = f"client {client.name} is another machine, whose path has one link here: leave [behind] out"
        raise SettingError(keys[BEHIND], message)


def _check_multipath_quic(own: Mapping[str, Scalar], *, has_second: bool) -> None:
    keys = [f"{role}_knobs.{MULTIPATH}" for role in ("client", "server")]
    given = [key for key in keys if key in own]
    if not given:
        return
    if len(given) < len(keys):
        (missing,) = set(keys) - set(given)
        raise SettingError(given[0], f"needs the other end, too: set {missing}")
    if not has_second:
        raise SettingError(given[0], "has one path only: give the study a second link, [second]")


def _check_preferred_address(own: Mapping[str, Scalar], *, has_middle: bool) -> None:
    key = next((key for key in own if key.endswith(f"server_knobs.{PREFERRED_ADDRESS}") and own[key]), None)
    if key is not None and key != f"server_knobs.{PREFERRED_ADDRESS}":
        raise SettingError(key, "is for one client: servers of flows that compete have one address each")
    if key is not None and has_middle:
        raise SettingError(key, "a path with a middle leads to one address of the server: leave it or [behind] out")


def _stale_tickets(arm: Arm, settings: Mapping[str, Scalar], setup: FlowSetup) -> float:
    share = units.parse_share({**settings, **arm.settings}.get(STALE_TICKETS, "0%"))
    if share and setup.connection is ConnectionState.COLD and STALE_TICKETS in arm.settings:
        raise SettingError(STALE_TICKETS, "a cold connection has no ticket; set connection to resumed or 0rtt")
    return float(share)


def _check_tcp(arm: Arm, settings: Mapping[str, Scalar], *congestion_controls: str | None) -> None:
    """Check settings of TCP against the congestion controls of the arm's flows; None is that of a flow over UDP."""
    if controllers := {name for name in congestion_controls if name is not None}:
        own = tcp.with_presets(settings, arm.settings)
        tcp.check_cubic(own, controllers)
        tcp.check_dctcp(own, controllers)


def arm_differences(study: Study, catalogue: Catalogue) -> dict[str, dict[str, Scalar]]:
    """Return, for each arm, its values of the settings in which the study's arms differ.

    Keys are as in a study file; a setting that an arm does not have is left out. A stack is named with the version that
    runs, and a preset of TCP by the settings that it stands for. A group of flows has the arm's own settings where it
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
    """Return the value of a key for an arm, or for a group of its flows; None where it has none."""
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
        if role in ("server", "client", PROXY) and stack is not None:
            settings[key] = f"{stack.name}@{stack.default_version}"
    first = [key for key in ENDPOINT_KEYS if key in settings]
    return {key: settings[key] for key in (*first, *sorted(settings.keys() - set(first)))}


def _is_tcp(key: str) -> bool:
    return key == tcp.CONGESTION_CONTROL or key in tcp.SETTINGS
