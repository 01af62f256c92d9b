"""A comparison of two stacks as a study without a file: what `longlook compare` runs."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from longlook.core import InputError, Problems, Scalar, Stopping, Study, find_protocol, registry, units
from longlook.study import SAMPLED, SERVER_CONFIG, STANDARD, Catalogue, ComparedSide, installed, parse_study, toml_value

BASELINE, CONTENDER = "baseline", "contender"
ROLES = ("server", "client")
BOTH = "both"

_LARGEST_MARGIN_PCT = 5.0


@dataclass(frozen=True)
class SideKnob:
    """A setting of a program: of one side or of both, of one role or of all that have it."""

    name: str
    value: Scalar
    side: str | None = None
    role: str | None = None


@dataclass(frozen=True)
class SideConfig:
    """The path of a configuration that the user brings for the server, of one side or of both."""

    path: str
    side: str | None = None


@dataclass(frozen=True)
class ComparisonSpec:
    """The whole description of a comparison. `gate_pct` is how much worse the contender may be."""

    baseline: ComparedSide
    contender: ComparedSide
    networks: Mapping[str, Mapping[str, Scalar]]  # label → settings by dotted key
    gate_pct: float
    role: str = BOTH
    peer: str = "quic-go"  # the other end where one role is compared
    connection: str = "cold"
    congestion_control: str = "cubic"  # of arms over TCP
    knobs: tuple[SideKnob, ...] = ()
    configs: tuple[SideConfig, ...] = ()
    metrics: tuple[str, ...] = ("page_load_time",)
    workload: Mapping[str, Scalar] = field(default_factory=lambda: {"kind": "page", "objects": 1, "object": "1MB"})
    rounds: int | None = None  # None: as many as decide, at most `max_rounds`
    max_rounds: int = 40
    timeout: str = "60s"
    seed: int = 1
    around: str = STANDARD  # or NONE: rounds that draw nothing
    losses: str = SAMPLED  # or STRATA: random losses are integrated
    alpha: float = 0.05


def confidence(spec: ComparisonSpec) -> float:
    """Return the confidence of each interval of a comparison, such that all its answers are right with 1 − alpha.

    A network has a decision for each metric and one for failures, and each is one-sided: of 2·alpha/decisions that an
    interval may miss, half lies on either side (Bonferroni's inequality).
    """
    return 1 - 2 * spec.alpha / (len(spec.networks) * (len(spec.metrics) + 1))


def parse_gate(text: str) -> float:
    """Return `5%` as percentage points; InputError if it is no share."""
    try:
        return float(units.parse_share(text) * 100)
    except units.UnitError as error:
        raise InputError(f"--gate {text}: {error}", "write for example --gate 5%") from error


def parse_knob(text: str) -> SideKnob:
    """Return a knob from `[baseline:|contender:][server.|client.]NAME=VALUE`."""
    key, equals, value = text.partition("=")
    side, colon, name = key.partition(":")
    if not colon:
        side, name = "", key
    role, dot, rest = name.partition(".")
    if dot and role in ROLES:
        name = rest
    else:
        role = ""
    if not equals or not name or (colon and side not in (BASELINE, CONTENDER)):
        raise InputError(
            f"--knob {text}: not [baseline:|contender:][server.|client.]NAME=VALUE",
            "write for example --knob contender:server.initial_window=32",
        )
    return SideKnob(name, toml_value(value), side or None, role or None)


def parse_configs(texts: Iterable[str]) -> tuple[SideConfig, ...]:
    """Return the configurations from texts `[baseline:|contender:]FILE`; InputError if a side has two."""
    found: list[SideConfig] = []
    for text in texts:
        side, colon, path = text.partition(":")
        config = SideConfig(path, side) if colon and side in (BASELINE, CONTENDER) else SideConfig(text)
        if not config.path:
            raise InputError(f"--server-config {text}: names no file", "write for example contender:my.conf")
        if any(None in (config.side, other.side) or config.side == other.side for other in found):
            raise InputError(f"--server-config {text}: a side has two of them", "name one file a side")
        found.append(config)
    return tuple(found)


def are_commands(baseline: str, contender: str) -> bool:
    """Return whether two sides are commands: they have arguments, or name programs that are no stacks.

    InputError if one side is a command and the other is not.
    """
    found = [_is_command(side) for side in (baseline, contender)]
    if any(found) and not all(found):
        stack = (baseline, contender)[found.index(False)]
        raise InputError(
            f"{stack!r} is no command, and the other side is one",
            "compare two stacks, such as quic-go and quiche, or two commands, such as 'curl …' and 'wget …'",
        )
    return all(found)


def _is_command(side: str) -> bool:
    name, at, _ = side.partition("@")
    if at and name in registry.stacks():
        return False  # the path of a build may have spaces
    known = side.partition(":")[0] in registry.stacks()
    return len(side.split()) > 1 or (not known and shutil.which(side) is not None)


def kind_of_load(sides: Iterable[ComparedSide], role: str, peer: str) -> str:
    """Return the workload of a comparison: `page`, or `download` if a client asks for all its files at once."""
    names = [side.stack for side in sides] if role != "server" else [re.split("[@:]", peer)[0]]
    stacks = registry.load("stacks")
    at_once = (name for name in names if name in stacks and stacks[name].requests_command is not None)
    return "page" if next(at_once, None) is None else "download"


def make_study(spec: ComparisonSpec, catalogue: Catalogue | None = None) -> Study:
    """Return the study that answers a comparison; InputError with all that is wrong with it."""
    known = catalogue or installed()
    if not 0 < spec.alpha < 0.5:
        raise InputError(f"--alpha {spec.alpha:g}: not above 0 and below 0.5", "write for example --alpha 0.05")
    family = {"family": "gate"} if len(spec.metrics) > 1 else {}  # alone it is a family of its own
    document: dict[str, Any] = {
        "schema": 1,
        "title": f"{_title(spec, CONTENDER)} against {_title(spec, BASELINE)}",
        "question": f"Is {_title(spec, CONTENDER)} worse than {_title(spec, BASELINE)} by more than "
        f"{spec.gate_pct:g}%?",
        **({"rounds": "decide", "max_rounds": spec.max_rounds} if spec.rounds is None else {"rounds": spec.rounds}),
        "seed": spec.seed,
        "around": spec.around,
        "losses": spec.losses,
        "timeout": spec.timeout,
        "metrics": list(spec.metrics),
        "arms": {BASELINE: _arm(spec, BASELINE, known), CONTENDER: _arm(spec, CONTENDER, known)},
        "workload": dict(spec.workload),
        "network": {},
        "factors": [{"name": "network", "levels": [{"label": label, **sets} for label, sets in spec.networks.items()]}],
        "contrasts": [
            {"name": metric, "baseline": BASELINE, "contender": CONTENDER, "metric": metric, **family}
            for metric in spec.metrics
        ],
        # What is worse by more than the gate must not pass for equivalent.
        "analysis": {
            "alpha": spec.alpha,
            "confidence": confidence(spec),
            "equivalence_margin": f"{min(_LARGEST_MARGIN_PCT, spec.gate_pct):.6g}%",
        },
    }
    study = parse_study("compare", document, Problems("compare"), known)
    if spec.rounds is not None and spec.rounds < study.analysis.min_rounds:
        raise InputError(f"--rounds {spec.rounds}: a verdict needs {study.analysis.min_rounds} rounds or more")
    return study if spec.rounds is not None else replace(study, stopping=Stopping(spec.gate_pct))


def _label(spec: ComparisonSpec, which: str) -> str:
    side = spec.baseline if which == BASELINE else spec.contender
    same_program = spec.baseline.name == spec.contender.name
    knobs = [
        f"{f'{knob.role} ' if knob.role else ''}{knob.name}={str(knob.value).lower()}"
        for knob in spec.knobs
        if knob.side == which
    ]
    differs = [side.protocol] if same_program or spec.baseline.protocol != spec.contender.protocol else []
    label = " ".join([side.name, *differs, *knobs])
    own = [*knobs, *(config.path for config in spec.configs if config.side == which)]
    return f"{label}, {which}" if spec.baseline == spec.contender and not own else label


def _title(spec: ComparisonSpec, which: str) -> str:
    """Return the label of a side with the name of its own configuration, which the study adds to the label itself."""
    names = [Path(config.path).name for config in spec.configs if config.side == which]
    return " ".join([_label(spec, which), *(f"({name})" for name in names)])


def _arm(spec: ComparisonSpec, which: str, catalogue: Catalogue) -> dict[str, Any]:
    side = spec.baseline if which == BASELINE else spec.contender
    compared = ROLES if spec.role == BOTH else (spec.role,)
    ends = {role: side.name if role in compared else spec.peer for role in ROLES}
    own = next((config.path for config in spec.configs if config.side in (None, which)), "")
    arm: dict[str, Any] = {
        "label": _label(spec, which),
        "protocol": side.protocol,
        "connection": spec.connection,
        **ends,
        **({SERVER_CONFIG: own} if own else {}),
        **_knob_tables(side, [knob for knob in spec.knobs if knob.side in (None, which)], compared, catalogue),
    }
    if not find_protocol(side.protocol).quic:
        arm["congestion_control"] = spec.congestion_control
    return arm


def _knob_tables(
    side: ComparedSide, knobs: Sequence[SideKnob], compared: Sequence[str], catalogue: Catalogue
) -> dict[str, dict[str, Scalar]]:
    """Put each knob in the table of every role that has it; if none has, reading the study names those there are."""
    stack = catalogue.stacks[side.stack]
    tables: dict[str, dict[str, Scalar]] = {}
    for knob in knobs:
        able = [role for role in compared if knob.name in stack.knobs_of(side.version, role)]
        for role in [knob.role] if knob.role else able or compared:
            tables.setdefault(f"{role}_knobs", {})[knob.name] = knob.value
    return tables
