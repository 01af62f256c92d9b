"""The measure of the effect of each setting of TCP and each knob, and the effects that nothing in a run measured. Pure.

A setting that was written, or a knob that was handed over, is no proof of an effect. A trial measures some from its
link's log and its programs' lines (`lab.judge_settings`, `lab.judge_knobs`), the analysis others from traces. The rest
is proven by `longlook stacks check` alone, in trials of its own: a run that sets such a one says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from longlook.analysis.trace_checks import KNOBS as OFFERED
from longlook.core import MULTIPATH, Endpoint, Scalar, Trial, registry
from longlook.lab import judge_knobs, judge_settings
from longlook.study import tcp

BY_TRACES: Mapping[str, str] = {
    "congestion_control": "the server's qlog: the window that losses leave, or the states of a model",
    "initial_window": "the server's qlog: its first window",
    "window_after_loss": "the server's qlog: the window that losses leave",
    **dict.fromkeys(sorted(OFFERED), "the peer's qlog: the transport parameter"),
}
"""Knob → what a trace shows of it, where a trial captured one (`capture.qlog`)."""
_OF_SERVERS = frozenset({"congestion_control", "initial_window", "window_after_loss"})
_BY_COUNTS: Mapping[str, str] = {
    MULTIPATH: "the client's `path` lines",
    "allow_0rtt": "whether early data was taken, in arms that are `0rtt`",
}
_KERNEL_COUNTS: Mapping[str, str] = {"multipath": "the server's kernel counts subflows"}
NOTHING = "–"


@dataclass(frozen=True)
class Unmeasured:
    """Something that an arm set, and that nothing in its trials measured; `role` is empty for the kernel's TCP."""

    arm: str
    role: str
    name: str
    value: Scalar
    program: str = ""  # stack and version, of a knob

    def __str__(self) -> str:
        """Return it as a study has it."""
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        place = f"{self.role}_knobs.{self.name}" if self.role else self.name
        return f"{self.arm}: {place} = {value}"


def measured_by_trial(knob: str, role: str) -> str | None:
    """Return what in each trial shows the effect of a knob in a role; None: nothing does."""
    check = judge_knobs.MEASURED.get(knob)
    if check is None:
        return _BY_COUNTS.get(knob)
    return check.shows if role in check.roles else None


def knob_rows() -> Iterator[str]:
    """Yield a row of a Markdown table for each knob of any stack: what measures it in a trial, and in traces."""
    roles: dict[str, set[str]] = {}
    for stack in registry.load("stacks").values():
        for name, knob in stack.knobs.items():
            roles.setdefault(name, set()).update(knob.roles)
    for name, of in sorted(roles.items()):
        shown = [role for role in ("server", "client") if role in of and measured_by_trial(name, role)]
        text = measured_by_trial(name, shown[0]) if shown else NOTHING
        part = "" if not shown or set(shown) == of - {"proxy"} else f" (of a {shown[0]})"
        yield f"| `{name}` | {text}{part} | {BY_TRACES.get(name, NOTHING)} |"


def tcp_rows() -> Iterator[str]:
    """Yield the same for each setting of the kernel's TCP, which traces are not asked for."""
    yield "| `congestion_control` | the kernel, of its sockets, and what the server reports |"
    for key in tcp.SETTINGS:
        name = tcp.parameter(key)
        shown = judge_settings.MEASURED.get(name) or _KERNEL_COUNTS.get(name) or NOTHING
        yield f"| `{key}` | {shown} |"


def unmeasured(trials: Iterable[Trial]) -> list[Unmeasured]:
    """Return what trials set beside what is usual, and nothing in them measured: each once for an arm, in order."""
    return list(dict.fromkeys(found for trial in trials for found in _of_trial(trial)))


def _of_trial(trial: Trial) -> Iterator[Unmeasured]:
    usual = tcp.parameters(tcp.USUAL)
    shown = {*judge_settings.MEASURED, *_KERNEL_COUNTS}
    for key in tcp.SETTINGS:
        name = tcp.parameter(key)
        if name in trial.tcp and trial.tcp[name] != usual.get(name) and name not in shown:
            yield Unmeasured(trial.arm, "", key, trial.tcp[name])
    for flow in trial.each_flow():
        yield from _of_end(trial, "server", flow.server)
        yield from _of_end(trial, "client", flow.client)
    if trial.proxy is not None:
        yield from _of_end(trial, "proxy", trial.proxy)


def _of_end(trial: Trial, role: str, end: Endpoint) -> Iterator[Unmeasured]:
    if registry.stack(end.stack).outside:  # its knobs are about the judgement of each trial (`lab.judge_site`)
        return
    for name, value in end.knobs.items():
        own = role == "client" or trial.proxy is None
        check = judge_knobs.MEASURED.get(name)
        known = check is None or check.judged(value, end.knobs) is not None
        by_trial = role != "proxy" and own and known and measured_by_trial(name, role) is not None
        by_traces = trial.capture.qlog and name in BY_TRACES and (role == "server" or name not in _OF_SERVERS)
        if not by_trial and not (by_traces and role != "proxy"):
            yield Unmeasured(trial.arm, role, name, value, f"{end.stack}@{end.version}")


def said(found: Iterable[Unmeasured]) -> str:
    """Return one sentence about them, and how they are proven; empty without any."""
    items = list(found)
    if not items:
        return ""
    programs = list(dict.fromkeys(item.program for item in items if item.program))
    proof = f"longlook stacks check {' '.join(programs)}" if programs else "longlook stacks check quic-go"
    listed = "; ".join(map(str, items))
    return f"set, not measured in these trials: {listed}. Whether a program obeys is checked by: {proof}"
