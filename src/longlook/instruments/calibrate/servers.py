"""Servers compared with a reference before protocols are: what `longlook calibrate --servers` runs and finds."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longlook.core import Estimate, InputError, Problems, Scalar, Study, registry
from longlook.pipeline import Observer, Result, RunOptions, run_study
from longlook.study import (
    VIRTUAL,
    Catalogue,
    ComparedSide,
    default_around,
    find_study,
    installed,
    parse_side,
    parse_study,
    study_files,
)

STUDY = "kakhki2017-fig2"
"""The study of all servers that are here: path, transfer and references are its own (IMC 2017, section 4.1)."""
REFERENCES: Mapping[str, str] = {"h3": "envoy", "h2": "apache-tcp"}
"""The arm of STUDY that others are compared with, by protocol."""
WAITING, RECEIVING = "time_to_first_byte", "receive_time"
SETTINGS = (
    *("congestion_control", "emulated_connections", "initial_window", "min_window", "max_window"),
    *("initial_ssthresh", "hystart", "pacing", "packet_threshold", "initial_rtt"),
)
"""The knobs that decide how fast a server sends; each has one meaning for all stacks (adapters/CONTRACT.md)."""

_LIKE_IT = {"h3": {}, "h2": {"tcp": "stock"}}


@dataclass(frozen=True)
class ComparedServer:
    """One server: medians of waiting and receiving in s, and both against the reference (None: it is the reference,
    or nothing could be measured). `server` is the label of the arm, `program` the stack and its version."""

    arm: str
    server: str
    program: str
    protocol: str
    reference: bool
    waiting_s: float | None
    receiving_s: float | None
    waiting: Estimate | None
    receiving: Estimate | None
    settings: Mapping[str, Scalar | None] = field(default_factory=dict)
    """Knobs of SETTINGS that the program has, in their own units; None: the program's own value, which is not on
    record as one number.
    """


def servers_study(
    servers: Sequence[str] = (),
    rounds: int | None = None,
    catalogue: Catalogue | None = None,
    *,
    engine: str = VIRTUAL,
) -> Study:
    """Return the study of all servers, or of the servers named (`STACK[@VERSION][:h2]`) beside their references.

    Either way path, transfer and neighbourhood come from STUDY on this engine.

    Raises InputError with all that is wrong with it.
    """
    known = catalogue or installed()
    if not servers:
        return find_study(STUDY, known, rounds=rounds, engine=engine)
    document = tomllib.loads(Path(study_files()[STUDY]).read_text(encoding="utf-8"))
    arms, sides = document["arms"], [parse_side(text, "h3") for text in servers]
    for side in sides:
        if sides.count(side) > 1:
            raise InputError(f"--server {side.name}: given twice")
        if side.protocol not in REFERENCES:
            raise InputError(
                f"--server {side.name}:{side.protocol}: there is no reference for this protocol",
                f"allowed: {', '.join(REFERENCES)}",
            )
        reference = arms[REFERENCES[side.protocol]]
        if _arm(side) == reference | {"label": _label(side), "server": _program(reference["server"])}:
            raise InputError(f"--server {side.name}: it is the reference itself", "name another, or a version of it")
    kept = {REFERENCES[side.protocol]: arms[REFERENCES[side.protocol]] for side in sides}
    document |= {
        "title": f"{'; '.join(_label(side) for side in sides)} beside the reference",
        "question": "Does this server wait and send as long as the reference does?",
        "notes": "Path, transfer and reference are those of kakhki2017-fig2, which says why.",
        "around": document.get("around", default_around(engine)),
        "arms": kept | {_arm_name(side): _arm(side) for side in sides},
        "contrasts": [contrast for side in sides for contrast in _contrasts(side)],
    }
    document.pop("claims", None)
    if rounds is not None:
        document["rounds"] = rounds
    return parse_study("servers", document, Problems("servers"), known)


def run_servers(
    study: Study, out: Path, options: RunOptions, observer: Observer
) -> tuple[Result, list[ComparedServer]]:
    """Run the study in the folder `out` and return what each server was found to be."""
    result = run_study(study, out, options, observer)
    return result, compared(study, result.estimates)


def compared(study: Study, estimates: Sequence[Estimate]) -> list[ComparedServer]:
    """Return every server that stands in a contrast of waiting or receiving, each reference before the others. Pure."""
    labels = {arm.name: arm.label for arm in study.arms}
    settings = {arm.name: {**study.settings, **arm.settings} for arm in study.arms}
    found: dict[str, dict[str, Estimate]] = {}
    medians: dict[str, dict[str, float | None]] = {}
    for item in estimates:
        if item.metric not in (WAITING, RECEIVING):
            continue
        medians.setdefault(item.baseline, {})[item.metric] = item.baseline_median
        medians.setdefault(item.contender, {})[item.metric] = item.contender_median
        found.setdefault(item.contender, {})[item.metric] = item
    return [
        ComparedServer(
            name,
            labels[name],
            _program(str(settings[name]["server"])),
            str(settings[name]["protocol"]),
            name not in found,
            values.get(WAITING),
            values.get(RECEIVING),
            found.get(name, {}).get(WAITING),
            found.get(name, {}).get(RECEIVING),
            _settings(settings[name]),
        )
        for name, values in medians.items()
    ]


def _program(server: str) -> str:
    name, _, version = server.partition("@")
    return f"{name}@{version or registry.stack(name).default_version}"


def _label(side: ComparedSide) -> str:
    return f"{side.name}, {'QUIC' if side.protocol == 'h3' else 'TCP'}"


def _arm_name(side: ComparedSide) -> str:
    return f"{side.stack}-{side.version}-{side.protocol}".replace("+", "-")


def _arm(side: ComparedSide) -> dict[str, Any]:
    return {
        "label": _label(side),
        "protocol": side.protocol,
        "server": side.name,
        **_LIKE_IT[side.protocol],
    }


def _contrasts(side: ComparedSide) -> list[dict[str, str]]:
    kind = "" if side.protocol == "h3" else ", TCP"
    reference, name = REFERENCES[side.protocol], _arm_name(side)
    return [
        {
            "name": f"{what}: {name} vs {reference}",
            "family": f"{what}{kind}",
            "baseline": reference,
            "contender": name,
            "metric": metric,
        }
        for what, metric in (("waiting", WAITING), ("receiving", RECEIVING))
    ]


def _settings(arm: Mapping[str, Scalar]) -> dict[str, Scalar | None]:
    """Return the value of each knob of SETTINGS that the server has: as the arm sets it, else the usual one."""
    name, _, version = _program(str(arm["server"])).partition("@")
    knobs = registry.stack(name).knobs_of(version, "server")
    return {
        key: arm.get(f"server_knobs.{key}", knobs[key].default if knobs[key].default is not None else knobs[key].usual)
        for key in SETTINGS
        if key in knobs and knobs[key].applies_to(str(arm["protocol"]))
    }
