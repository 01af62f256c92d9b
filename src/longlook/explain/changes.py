"""Changes of a trial, for interventions of causes. Each function returns a change, or why it cannot be made.

A value that an arm has already is no change.

A knob that a version lacks is looked for in its tunable build (`VERSION+knobs`), which behaves as the version does
while its knobs are at their defaults (docs/reference/stacks.md).
"""

from collections.abc import Iterable, Mapping

from longlook.core import (
    BEHIND,
    EITHER,
    OFF,
    ConnectionState,
    Endpoint,
    Knob,
    Scalar,
    SettingError,
    Stack,
    Trial,
    find_protocol,
    registry,
    versions,
)
from longlook.explain.cause import Change, Finding, Intervention, Purpose, Surgery, Target, Touches, Untestable
from longlook.explain.facts.link import RANDOM_LOSS
from longlook.explain.pair import Pair, Side
from longlook.study import NO_CONFIG, NO_PROXY, PROXY, SERVER_CONFIG, config_text, tcp

Proposal = Intervention | Untestable
"""A possible change, or the reason why it cannot be made."""

EITHER_WAY = "its client chooses between QUIC and TCP: a change of one of them could move the choice"


def knob(trial: Trial, role: str, name: str, value: Scalar, label: str, measured: Scalar | None = None) -> Change | str:
    """Return the change that sets a knob of the trial's server, client or proxy, or the reason why there is none.

    A value that the program has already is no change either: as the study sets it, else as it was `measured`, else as
    its stack declares its default.
    """
    if role == PROXY and trial.proxy is None:
        return "there is no proxy"
    end = end_of(trial, role)
    stack = registry.stack(end.stack)
    for version in stack.with_knobs(end.version):
        known = stack.knobs_of(version, role)
        if name not in known:
            continue
        if reason := _condition(end, known[name], known):
            return f"{role} {end.stack}@{version} has {name} only with {reason}"
        if (own := end.knobs.get(name, _unset(known[name]) if measured is None else measured)) == value:
            return f"{role} {end.stack}@{end.version} has {name} {shown(own)} already"
        other_build = {} if version == end.version else {role: f"{end.stack}@{version}"}
        return Change(label, {**other_build, f"{role}_knobs.{name}": value})
    if reason := stack.why_untunable(end.version):
        return f"{role} {end.stack}@{end.version} has no knob {name}: {reason}"
    able = sorted(text for other in registry.stacks().values() if (text := _having(other, role, name)))
    others = f"; it is a knob of {', '.join(able)}" if able else ""
    return f"{role} {end.stack}@{end.version} has no knob {name}{others}"


def _having(stack: Stack, role: str, name: str) -> str:
    """Return a stack that has a knob in a role, with its versions if not all have it; empty if none has."""
    names = stack.version_names if role in stack.roles else ()
    able = [version for version in names if name in stack.knobs_of(version, role)]
    if not able or len(able) == len(names):
        return stack.name if able else ""
    return f"{stack.name}@{able[0]}" if len(able) == 1 else f"{stack.name}@{able[0]} to {able[-1]}"


def in_effect(trial: Trial, role: str, name: str) -> Scalar | None:
    """Return the value of an end's knob: as it is set, else its stack's own, as far as it is known."""
    end = end_of(trial, role)
    declared = registry.stack(end.stack).knobs.get(name)
    return end.knobs.get(name, None if declared is None else _unset(declared))


def end_of(trial: Trial, role: str) -> Endpoint:
    """Return the trial's server, client or proxy, which it must have."""
    if role == PROXY and trial.proxy is not None:
        return trial.proxy
    return trial.server if role == "server" else trial.client


def without_proxy(trial: Trial, label: str) -> Change | str:
    """Return the change that takes the proxy out of the path, whose two links stay; or why there is none."""
    return "there is no proxy" if trial.proxy is None else Change(label, {PROXY: NO_PROXY})


def through_proxy(trial: Trial, proxy: Endpoint, label: str) -> Change | str:
    """Return the change that puts a proxy between the two links of a path without one; or why there is none."""
    if trial.proxy is not None:
        return f"{trial.proxy.stack} is its proxy already"
    stack = registry.stack(proxy.stack)
    if not stack.speaks(proxy.version, trial.protocol, "proxy"):
        return f"proxy {stack.name} does not speak {trial.protocol}"
    if trial.connection not in stack.connections_of(proxy.version, trial.protocol):
        return f"proxy {stack.name} cannot do {trial.connection} over {trial.protocol}"
    knobs = {f"{PROXY}_knobs.{name}": value for name, value in proxy.knobs.items()}
    return Change(label, {PROXY: f"{stack.name}@{proxy.version}", **knobs})


def _unset(knob: Knob) -> Scalar | None:
    """Return the value of a knob that nobody sets, as far as it is known."""
    return knob.usual if knob.default is None else knob.default


def _condition(end: Endpoint, knob: Knob, known: Mapping[str, Knob]) -> str:
    """Return what a knob asks of others and an end does not have, in words; empty if it can be set."""
    for other, needed in knob.only_with.items():
        own = end.knobs.get(other, _unset(known[other]) if other in known else None)
        if own not in needed:
            return f"{other} {' or '.join(map(shown, needed))}, and this arm has {'another' if own is None else own}"
    return ""


def shown(value: Scalar | None) -> str:
    """Return the value of a setting in words."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def kernel_tcp(trial: Trial, settings: Mapping[str, Scalar], label: str) -> Change | str:
    """Return the change of settings of the kernel's TCP, or the reason why there is none."""
    if trial.protocol == EITHER.name:
        return EITHER_WAY
    if over_quic(trial):
        return f"{trial.server.stack} speaks QUIC: it has no settings of the kernel's TCP"
    unknown = [name for name in settings if name not in (*tcp.SETTINGS, tcp.CONGESTION_CONTROL)]
    if unknown:
        return f"{unknown[0]} is not a setting of TCP here"
    if settings and all(_canonical(name, value) == tcp_value(trial, name) for name, value in settings.items()):
        return f"TCP has {', '.join(f'{name} {shown(value)}' for name, value in settings.items())} already"
    return Change(label, dict(settings))


def _canonical(name: str, value: Scalar) -> Scalar:
    """Return a setting of TCP as a study has it; one that no study could have as it is, to be refused as such."""
    try:
        return value if name == tcp.CONGESTION_CONTROL else tcp.tcp_setting(name, value)
    except SettingError:
        return value


def tcp_value(trial: Trial, name: str) -> Scalar | None:
    """Return a setting of the kernel's TCP as a study file writes it: as the arm sets it, else as Linux has it."""
    if name == tcp.CONGESTION_CONTROL:
        return trial.congestion_control or tcp.USUAL[name]
    parameter = tcp.parameter(name)
    value = trial.tcp.get(parameter)
    if value is None:
        return tcp.USUAL.get(name)
    unit = {"bytes": "B", "ms": "ms"}.get(parameter.rpartition("_")[2], "")
    return tcp.tcp_setting(name, f"{value}{unit}") if unit else value


def over_quic(trial: Trial) -> bool:
    """Return whether the trial's protocol runs over QUIC."""
    return find_protocol(trial.protocol).quic


def has_early_data(trial: Trial) -> bool:
    """Return whether both programs can begin a connection of the trial's protocol with early data."""
    return all(
        ConnectionState.ZERO_RTT in registry.stack(end.stack).connections_of(end.version, trial.protocol)
        for end in (trial.server, trial.client)
    )


def cure(touches: Touches, target: Target, change: Change | str, dose: float | None = None) -> Proposal:
    """Return a change as a cure; a reason instead of a change makes it untestable. `dose` is its place among doses."""
    return made(Purpose.CURE, touches, target, change, dose)


def transplant(touches: Touches, change: Change | str) -> Proposal:
    """Return a change as a transplant into the winner; a reason instead of a change makes it untestable."""
    return made(Purpose.TRANSPLANT, touches, Target.WINNER, change)


def made(kind: Purpose, touches: Touches, target: Target, change: Change | str, dose: float | None = None) -> Proposal:
    """Return an intervention, or what is untestable and why."""
    if isinstance(change, str):
        return Untestable(kind, change, touches)
    return Intervention(kind, target, touches, change, dose)


def doses(touches: Touches, target: Target, changes: Iterable[tuple[float, Change | str]]) -> list[Proposal]:
    """Return the values of a dose that can be made; all of them untestable count as one."""
    found = [made(Purpose.DOSE, touches, target, change, dose) for dose, change in changes]
    possible = [item for item in found if isinstance(item, Intervention)]
    return [*possible] if possible else found[:1]


def path(settings: Mapping[str, Scalar], label: str, trial: Trial | None = None) -> Change:
    """Return the change of settings of the path, each for both directions: `{"loss": "0%"}`.

    If a trial is given, they are set on the link behind its middle, too, if it has one.
    """
    links = ("network", *([BEHIND] if trial is not None and trial.has_middle else []))
    ways = [(link, way) for link in links for way in ("down", "up")]
    return Change(label, {f"{link}.{way}.{name}": value for name, value in settings.items() for link, way in ways})


def forgiven(finding: Finding, label: str) -> Change | str:
    """Return the change that spares, in each round, the packets that its sign names; else the reason why none."""
    surgery = {}
    for number, sign in finding.signs.items():
        if sign.packets:
            text = f"forgive {', '.join(map(str, sorted(sign.packets)))}"
            surgery[number] = Surgery(down=text) if sign.direction == "down" else Surgery(up=text)
    return Change(label, surgery=surgery) if surgery else "no packet was named that could be spared"


PACKET_BYTES = 1460
"""The payload of a packet of usual size, in which settings count windows."""


def tuned(
    trial: Trial,
    role: str,
    knobs: Mapping[str, Scalar],
    tcp: Mapping[str, Scalar],
    label: str,
    measured: Scalar | None = None,
) -> Change | str:
    """Return the change that sets knobs of an end over QUIC, or settings of the kernel's TCP over TCP; or why not.

    The knobs count that the version has, or the knobs of its tunable build if it has none. `measured` is the knob's
    true value, if a trace shows it.
    """
    if trial.protocol == EITHER.name:
        return EITHER_WAY
    if not over_quic(trial):
        return kernel_tcp(trial, tcp, label) if tcp else "the kernel's TCP has no such setting"
    set_each = [knob(trial, role, name, value, label, measured) for name, value in knobs.items()]
    found = [change for change in set_each if isinstance(change, Change)]
    if not found:
        return str(set_each[0]) if set_each else f"no knob of a stack does this over {trial.protocol}"
    as_it_is = [change for change in found if role not in change.settings]
    chosen = as_it_is or found
    return Change(label, {key: value for change in chosen for key, value in change.settings.items()})


def inflicted(finding: Finding, label: str, otherwise: str) -> Change | str:
    """Return the change that does to the winner, round by round, what the signs' surgery says; or why there is none."""
    surgery = {number: sign.transplant for number, sign in finding.signs.items() if sign.transplant is not None}
    return Change(label, surgery=surgery) if surgery else otherwise


def both_ways(settings: Mapping[str, Scalar], label: str) -> Change:
    """Return the change of settings of the path that have no direction of their own: `{"nat_timeout": "off"}`."""
    return Change(label, {f"network.{name}": value for name, value in settings.items()})


def has_stage(side: Side, *kinds: str) -> bool:
    """Return whether a stage of some kind stands in the path, in either direction.

    A trial with planned losses counts as one with random loss, in whose place they are.
    """
    if side.trial.stratum and RANDOM_LOSS in kinds:
        return True
    return any(stage.kind in kinds for stage in (*side.trial.link.down, *side.trial.link.up))


def slow_start_until(side: Side, window_bytes: float) -> Change | str:
    """Return the change that ends the first slow start of a side's server at a window, or why there is none."""
    packets = max(2, int(window_bytes) // PACKET_BYTES)
    return tuned(
        side.trial,
        "server",
        {"initial_ssthresh": packets},
        {"tcp_hystart": False, "tcp_initial_ssthresh": packets},
        f"slow start up to {packets} packets",
    )


def with_hystart(side: Side, *, on: bool) -> Change | str:
    """Return the change that lets a rising round trip time end slow start, or not, or why it would change nothing."""
    if not over_quic(side.trial) and bool(side.trial.tcp.get("hystart", True)) is on:
        return f"HyStart of Linux's Cubic is {'on' if on else 'off'} already"
    label = f"slow start that a rising round trip time {'may end' if on else 'does not end'}"
    return tuned(side.trial, "server", {"hystart": on}, {"tcp_hystart": on}, label)


def other_version(side: Side, role: str) -> Change | str:
    """Return the change to the newest version of an end's stack, or to the one before if it has the newest."""
    end = side.trial.server if role == "server" else side.trial.client
    stack = registry.stack(end.stack)
    plain = [
        version.name
        for version in stack.versions
        if not versions.is_tunable(version.name) and stack.speaks(version.name, side.trial.protocol)
    ]
    others = [name for name in plain if name != versions.untuned_name(end.version)]
    if not others:
        return f"{end.stack} has no other version here"
    return Change(f"{end.stack} {others[-1]} as {role}", {role: f"{end.stack}@{others[-1]}"})


def other_controllers(side: Side) -> list[Change | str]:
    """Return changes to the congestion controls that a side's server can have beside its own, one each."""
    trial = side.trial
    if trial.protocol == EITHER.name:
        return [EITHER_WAY]
    if not over_quic(trial):
        names = [name for name in ("cubic", "reno", "bbr") if name != trial.congestion_control]
        return [Change(f"{name} as congestion control", {"congestion_control": name}) for name in names]
    declared = registry.stack(trial.server.stack).knobs.get("congestion_control")
    own = trial.server.knobs.get("congestion_control")
    names = [str(name) for name in (declared.choices if declared is not None else ("cubic",)) if name != own]
    return [knob(trial, "server", "congestion_control", name, f"{name} as congestion control") for name in names]


def freed(trial: Trial, role: str) -> list[Change]:
    """Return the changes that take away what slows down an end: its processor, or a client's share of a CPU."""
    found = []
    if role in trial.processors:
        found.append(Change(f"a {role} whose computing is free", {f"{role}_processor": OFF}))
    if role == "client" and trial.client_cpu_share is not None:
        found.append(Change("a client without a limit of its CPU", {"client_cpu": "off"}))
    return found


def winners_program(pair: Pair, role: str) -> Change | str:
    """Return the change to the winner's program in a role, or why it would change nothing."""
    own, other = (getattr(side.trial, role) for side in (pair.loser, pair.winner))
    if (own.stack, own.version, own.config) == (other.stack, other.version, other.config):
        return f"both arms have {own.stack} {own.version} as {role}, and no setting of it does this"
    label = f"{other.stack} {other.version}" + (f" ({other.config.label})" if other.config is not None else "")
    settings = {role: f"{other.stack}@{other.version}"}
    if own.config != other.config:  # which a server alone has
        settings[SERVER_CONFIG] = NO_CONFIG if other.config is None else config_text(other.config)
    return Change(f"{label} as {role}", settings)
