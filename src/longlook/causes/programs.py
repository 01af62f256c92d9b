"""Causes: the programs at both ends, and their congestion controllers."""

from collections.abc import Sequence

from longlook.core import Endpoint, registry
from longlook.explain import (
    Cause,
    Change,
    Evidence,
    Finding,
    Intervention,
    LedgerClass,
    Pair,
    Says,
    Side,
    Sign,
    Target,
    Touches,
    Untestable,
    changes,
)


def version_cause(role: str) -> Cause:
    """Return the cause of a role, server or client, whose version the arms do not share."""

    def detect(pair: Pair) -> Sign | None:
        own, other = _end(pair.loser, role), _end(pair.winner, role)
        same_protocol = pair.loser.trial.protocol == pair.winner.trial.protocol
        if own.stack != other.stack or own.version == other.version or not same_protocol:
            return None
        shown = Evidence(0, f"the {role} is {own.version}, the other arm's {other.version}")
        return Sign(pair.loser.load_ns - pair.winner.load_ns, (shown,))

    def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
        """Return the winner's version for the loser, and the loser's for the winner."""
        return [
            changes.cure(Touches.PROGRAM, Target.LOSER, _version_of(pair.winner, role)),
            changes.transplant(Touches.PROGRAM, _version_of(pair.loser, role)),
        ]

    detect.__doc__ = f"Return a sign if both {role}s are of one stack, in different versions, over the same protocol."
    return Cause(
        name=f"{role}_version",
        title=f"Version of the {role}",
        sentence=f"with the version of its {role}",
        source="which side a change between releases is on",
        role=role,
        classes=(),
        needs=(),
        detect=detect,
        interventions=interventions,
        cured_by=f"the winner's version of the {role}",
        says=Says.WHERE,
    )


def _end(side: Side, role: str) -> Endpoint:
    return side.trial.server if role == "server" else side.trial.client


def _version_of(side: Side, role: str) -> Change:
    end = _end(side, role)
    return Change(f"{end.version} as {role}", {role: f"{end.stack}@{end.version}"})


CLIENT_VERSION = version_cause("client")
"""The two arms run different versions of one stack, and the client's makes the difference."""


SERVER_VERSION = version_cause("server")
"""The two arms run different versions of one stack, and the server's makes the difference."""


_CONGESTION_CONTROLLER_CLASSES = (
    LedgerClass.CONGESTION_WINDOW,
    LedgerClass.ACK_WAIT,
    LedgerClass.PACING,
    LedgerClass.TIMER,
)


def congestion_controller_sign(pair: Pair) -> Sign | None:
    """Return a sign if both servers' controllers are known and differ, and the loser waits for its window longer."""
    own, other = controller(pair.loser), controller(pair.winner)
    if own is None or other is None or own == other:
        return None
    shown = Evidence(0, f"the sender's congestion control is {own}, the other arm's {other}")
    return Sign(pair.excess_ns(*_CONGESTION_CONTROLLER_CLASSES), (shown,))


def congestion_controller_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's controller for the loser, and the loser's for the winner."""
    own, other = str(controller(pair.loser)), str(controller(pair.winner))
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _controlled(pair.loser, other)),
        changes.transplant(Touches.MECHANISM, _controlled(pair.winner, own)),
    ]


def controller(side: Side) -> str | None:
    """Return the name of the server's congestion control: as configured, else the default of its stack."""
    trial = side.trial
    if not changes.over_quic(trial):
        return trial.congestion_control
    configured = trial.server.knobs.get("congestion_control")
    if configured is not None:
        return str(configured)
    knob = registry.stack(trial.server.stack).knobs.get("congestion_control")
    default = knob.help.partition("(stack: ")[2].split(",")[0].rstrip(")") if knob is not None else ""
    return default.split(" ")[0] or None


def _controlled(side: Side, name: str) -> Change | str:
    label = f"{name} as congestion control"
    if not changes.over_quic(side.trial):
        return changes.kernel_tcp(side.trial, {"congestion_control": name}, label)
    knob = registry.stack(side.trial.server.stack).knobs.get("congestion_control")
    if knob is not None and knob.choices and name not in knob.choices:
        offered = ", ".join(map(str, knob.choices))
        return f"server {side.trial.server.stack} has no congestion control {name}, but {offered}"
    return changes.knob(side.trial, "server", "congestion_control", name, label)


CONGESTION_CONTROLLER = Cause(
    name="congestion_controller",
    title="Another congestion controller",
    sentence="it has another congestion controller",
    source="Yu and Benson, WWW 2021; Mishra et al., 2022",
    role="server",
    classes=_CONGESTION_CONTROLLER_CLASSES,
    needs=(),
    detect=congestion_controller_sign,
    interventions=congestion_controller_changes,
    cured_by="the winner's congestion controller",
)
"""The two senders have different congestion controllers."""


_KNOB = "emulated_connections"
_EMULATED_CONNECTIONS_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT)


def emulated_connections_sign(pair: Pair) -> Sign | None:
    """Return a sign if the winner emulates more connections than the loser, and the loser waits for its window."""
    own, other = emulated(pair.loser), emulated(pair.winner)
    if own >= other:
        return None
    shown = Evidence(0, f"the sender acts for {own} connection, the other arm's for {other}")
    return Sign(pair.excess_ns(*_EMULATED_CONNECTIONS_CLASSES), (shown,), dose=float(own))


def emulated_connections_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's number for the loser, the loser's for the winner."""
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _emulating(pair.loser, emulated(pair.winner))),
        changes.transplant(Touches.MECHANISM, _emulating(pair.winner, emulated(pair.loser))),
    ]


def emulated(side: Side) -> int:
    """Return for how many connections a server's controller acts: as configured, else 1."""
    return int(side.trial.server.knobs.get(_KNOB, 1))


def _emulating(side: Side, count: int) -> Change | str:
    return changes.knob(side.trial, "server", _KNOB, count, f"a controller for {count} connection{'s' * (count != 1)}")


EMULATED_CONNECTIONS = Cause(
    name="emulated_connections",
    title="Fewer emulated connections",
    sentence="its congestion controller acts for fewer connections than the other arm's",
    source="Kakhki et al., IMC 2017, 5.1",
    role="server",
    classes=_EMULATED_CONNECTIONS_CLASSES,
    needs=(),
    detect=emulated_connections_sign,
    interventions=emulated_connections_changes,
    cured_by="as many emulated connections as the winner has",
)
"""The winner's congestion controller acts for several connections, the loser's for one."""


CAUSES = (CLIENT_VERSION, SERVER_VERSION, CONGESTION_CONTROLLER, EMULATED_CONNECTIONS)
