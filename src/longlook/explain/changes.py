"""Changes of a trial, for interventions of causes. Each function returns what can be changed, or why it cannot.

A knob that a version lacks is looked for in its tunable build (`VERSION+knobs`), which behaves as the version does
where its knobs are at their defaults (docs/stacks.md).
"""

from collections.abc import Iterable, Mapping

from longlook.core import registry
from longlook.core.model import Scalar, Trial
from longlook.explain.cause import Change, Finding, Intervention, Kind, Surgery, Target, Untestable
from longlook.study import tcp
from longlook.study.settings import QUIC_PROTOCOLS

TUNABLE = "+knobs"


def knob(trial: Trial, role: str, name: str, value: Scalar, label: str) -> Change | str:
    """Return the change that sets a knob of the trial's server or client, or the reason why there is none."""
    end = trial.server if role == "server" else trial.client
    stack = registry.stack(end.stack)
    if name in stack.knobs_of(end.version, role):
        return Change(label, {f"{role}_knobs.{name}": value})
    tunable = f"{end.version.partition('+')[0]}{TUNABLE}"
    if tunable in stack.version_names and name in stack.knobs_of(tunable, role):
        return Change(label, {role: f"{end.stack}@{tunable}", f"{role}_knobs.{name}": value})
    able = sorted(other.name for other in registry.stacks().values() if name in other.knobs and role in other.roles)
    others = f"; it is a knob of {', '.join(able)}" if able else ""
    return f"{role} {end.stack}@{end.version} has no knob {name}{others}"


def kernel_tcp(trial: Trial, settings: Mapping[str, Scalar], label: str) -> Change | str:
    """Return the change of settings of the kernel's TCP, or the reason why there is none."""
    if over_quic(trial):
        return f"{trial.server.stack} speaks QUIC: it has no settings of the kernel's TCP"
    unknown = [name for name in settings if name not in (*tcp.SETTINGS, tcp.CONGESTION_CONTROL)]
    return f"{unknown[0]} is not a setting of TCP here" if unknown else Change(label, dict(settings))


def over_quic(trial: Trial) -> bool:
    """Return whether the trial's protocol runs over QUIC."""
    return trial.protocol in QUIC_PROTOCOLS


def cure(target: Target, change: Change | str, dose: float | None = None) -> Intervention | Untestable:
    """Return a change as a cure; a reason instead of a change makes it untestable. `dose` is its place among doses."""
    return made(Kind.CURE, target, change, dose)


def transplant(change: Change | str) -> Intervention | Untestable:
    """Return a change as a transplant into the winner; a reason instead of a change makes it untestable."""
    return made(Kind.TRANSPLANT, Target.WINNER, change)


def made(kind: Kind, target: Target, change: Change | str, dose: float | None = None) -> Intervention | Untestable:
    """Return an intervention, or what is untestable and why."""
    return Untestable(kind, change) if isinstance(change, str) else Intervention(kind, target, change, dose)


def doses(target: Target, changes: Iterable[tuple[float, Change | str]]) -> list[Intervention | Untestable]:
    """Return the values of a dose, those that can be made; all of them untestable count as one."""
    found = [made(Kind.DOSE, target, change, dose) for dose, change in changes]
    possible = [item for item in found if isinstance(item, Intervention)]
    return [*possible] if possible else found[:1]


def path(settings: Mapping[str, Scalar], label: str) -> Change:
    """Return the change of settings of the path, each for both directions: `{"loss": "0%"}`."""
    return Change(label, {f"network.{way}.{name}": value for name, value in settings.items() for way in ("down", "up")})


def forgiven(finding: Finding, label: str) -> Change | str:
    """Return the change that spares, in each round, the packets that its sign names; else the reason why none."""
    surgery = {}
    for number, sign in finding.signs.items():
        if sign.packets:
            text = f"forgive {', '.join(map(str, sorted(sign.packets)))}"
            surgery[number] = Surgery(down=text) if sign.direction == "down" else Surgery(up=text)
    return Change(label, surgery=surgery) if surgery else "no packet was named that could be spared"
