"""The two senders have different congestion controllers."""

from collections.abc import Sequence

from longlook.core import registry
from longlook.explain import changes
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.CONGESTION_WINDOW, LedgerClass.ACK_WAIT, LedgerClass.PACING, LedgerClass.TIMER)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where both servers' controllers are known and differ, and the loser waits for its window longer."""
    own, other = controller(pair.loser), controller(pair.winner)
    if own is None or other is None or own == other:
        return None
    shown = Evidence(0, f"the sender's congestion control is {own}, the other arm's {other}")
    return Sign(pair.excess_ns(*_CLASSES), (shown,))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return the winner's controller for the loser, and the loser's for the winner."""
    own, other = str(controller(pair.loser)), str(controller(pair.winner))
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, _controlled(pair.loser, other)),
        changes.transplant(Touches.MECHANISM, _controlled(pair.winner, own)),
    ]


def controller(side: Side) -> str | None:
    """Return the name of the server's congestion control: as configured, else the one that its stack has as default."""
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


CAUSE = Cause(
    name="congestion_controller",
    title="Another congestion controller",
    sentence="it has another congestion controller",
    source="Yu and Benson, WWW 2021; Mishra et al., 2022",
    role="server",
    classes=_CLASSES,
    needs=(),
    detect=detect,
    interventions=interventions,
    cured_by="the winner's congestion controller",
)
