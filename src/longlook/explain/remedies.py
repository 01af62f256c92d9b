"""Changes that are one thing over QUIC and another over TCP, and surgery by round. Pure."""

from collections.abc import Mapping

from longlook.core import registry, versions
from longlook.core.cpus import OFF
from longlook.core.model import Scalar, Trial
from longlook.core.protocol import EITHER
from longlook.explain import changes
from longlook.explain.cause import Change, Finding
from longlook.explain.pair import Pair, Side

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

    Of several knobs those count that the version has, or its tunable build where it has none. `measured` is what the
    knob has in truth, where a trace shows it.
    """
    if trial.protocol == EITHER.name:
        return changes.EITHER_WAY
    if not changes.over_quic(trial):
        return changes.kernel_tcp(trial, tcp, label) if tcp else "the kernel's TCP has no such setting"
    made = [changes.knob(trial, role, name, value, label, measured) for name, value in knobs.items()]
    found = [change for change in made if isinstance(change, Change)]
    if not found:
        return str(made[0]) if made else f"no knob of a stack does this over {trial.protocol}"
    as_it_is = [change for change in found if role not in change.settings]
    chosen = as_it_is or found
    return Change(label, {key: value for change in chosen for key, value in change.settings.items()})


def inflicted(finding: Finding, label: str, otherwise: str) -> Change | str:
    """Return the change that does to the winner, round by round, what the signs' surgery says; or why there is none."""
    surgery = {number: sign.transplant for number, sign in finding.signs.items() if sign.transplant is not None}
    return Change(label, surgery=surgery) if surgery else otherwise


def both_ways(settings: Mapping[str, Scalar], label: str) -> Change:
    """Return the change of settings of the path that have no direction of their own: `{"rebind_at": "off"}`."""
    return Change(label, {f"network.{name}": value for name, value in settings.items()})


def has_stage(side: Side, *kinds: str) -> bool:
    """Return whether a stage of some kind stands in the path, in either direction."""
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
    if not changes.over_quic(side.trial) and bool(side.trial.tcp.get("hystart", True)) is on:
        return f"HyStart of Linux's Cubic is {'on' if on else 'off'} already"
    label = f"slow start that a rising round trip time {'may end' if on else 'does not end'}"
    return tuned(side.trial, "server", {"hystart": on}, {"tcp_hystart": on}, label)


def other_version(side: Side, role: str) -> Change | str:
    """Return the change to the newest version of an end's stack, or to the one before where it has the newest."""
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
        return [changes.EITHER_WAY]
    if not changes.over_quic(trial):
        names = [name for name in ("cubic", "reno", "bbr") if name != trial.congestion_control]
        return [Change(f"{name} as congestion control", {"congestion_control": name}) for name in names]
    knob = registry.stack(trial.server.stack).knobs.get("congestion_control")
    own = trial.server.knobs.get("congestion_control")
    names = [str(name) for name in (knob.choices if knob is not None else ("cubic",)) if name != own]
    return [
        changes.knob(trial, "server", "congestion_control", name, f"{name} as congestion control") for name in names
    ]


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
    if (own.stack, own.version) == (other.stack, other.version):
        return f"both arms have {own.stack} {own.version} as {role}, and no setting of it does this"
    return Change(f"{other.stack} {other.version} as {role}", {role: f"{other.stack}@{other.version}"})
