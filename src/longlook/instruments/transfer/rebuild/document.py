"""A rebuilt transfer → a study file that repeats it, with the changes that test suspected causes. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core import Arm, Contrast, Problems, Scalar, Study, visible
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.classes import TimeClass
from longlook.instruments.transfer.rebuild.parts import Rebuilt
from longlook.instruments.transfer.rebuild.refit import drops
from longlook.study import Catalogue, parse_study

ARM = "rebuilt"
LOAD = "page_load_time"
"""The metric that a study expects by the name of `load`."""
_LEAST_TIMEOUT_S = 60
_TIMEOUT_FACTOR = 5
_BAND = 0.25
"""The rebuilt load may last so much less or longer than the trace's before the study's expectation fails."""


def metric_of(rebuilt: Rebuilt) -> str:
    """Return the metric that says how long the load took."""
    return "upload_time" if rebuilt.uplink else LOAD


def rebuilt_document(rebuilt: Rebuilt, answer: TransferAnswer, load_s: float | None = None) -> dict[str, Any]:
    """Return the document of the study: a scenario, which expects a load of about `load_s`.

    Without it the load is expected to be as long as the trace, except for the way of its last packet.
    """
    total_ns = answer.intervals.total_ns
    if load_s is None:
        load_s = (total_ns - answer.intervals.spent_ns(TimeClass.PROPAGATION)) / 1e9
    protocol = "h3" if answer.recording.is_quic else "h2"
    network: dict[str, Scalar] = {}
    arm: dict[str, Any] = {"label": "the transfer, rebuilt", "protocol": protocol, "connection": "cold"}
    for key, value in rebuilt.settings.items():
        table, dot, name = key.partition(".")
        if table == "network":
            network[name] = value
        elif dot:
            arm.setdefault(table, {})[name] = value
        else:
            arm[key] = value
    if surgery := drops(rebuilt):
        network.setdefault(f"surgery.{rebuilt.way}", surgery)
    timeout_s = max(_LEAST_TIMEOUT_S, round(_TIMEOUT_FACTOR * total_ns / 1e9))
    low_ms, high_ms = (max(1, round(1e3 * load_s * share)) for share in (1 - _BAND, 1 + _BAND))
    return {
        "schema": 1,
        "title": f"The transfer of {_plain(Path(answer.recording.name).name)}, rebuilt",
        "question": "Does a trial last as long as the transfer that was recorded?",
        "source": "none: fitted to a trace",
        "around": "none",
        "losses": "sampled",
        "timeout": f"{timeout_s}s",
        "metrics": [*dict.fromkeys((metric_of(rebuilt), LOAD))],
        "arms": {ARM: arm},
        "workload": dict(rebuilt.workload),
        "network": network,
        "expect": {"load": f"within {low_ms} to {high_ms} ms"},
    }


def rebuilt_study(document: Mapping[str, Any], catalogue: Catalogue) -> Study:
    """Return the study of a document. InputError with all that it cannot have."""
    return parse_study("reproduce", document, Problems("reproduce"), catalogue)


def with_tests(study: Study, changes: Mapping[str, Mapping[str, Scalar]], metric: str) -> Study:
    """Return the study with an arm for each change, by its name, and a contrast of each arm with the rebuilt one.

    An arm may change the path here, which a study file does not let it: all arms of a round have one path there.
    """
    rebuilt = next(arm for arm in study.arms if arm.name == ARM)
    arms = [Arm(name, name, {**rebuilt.settings, **settings}) for name, settings in changes.items()]
    contrasts = tuple(Contrast(arm.name, ARM, arm.name, metric) for arm in arms)
    return replace(study, arms=(rebuilt, *arms), contrasts=contrasts, expectations=())


def study_text(document: Mapping[str, Any], comments: Iterable[str]) -> str:
    """Return a document of a study as the text of a TOML file, below its comments."""
    lines = [*(f"# {_plain(comment)}" for comment in comments), ""]
    lines += [f"{key} = {_value(value)}" for key, value in document.items() if not isinstance(value, Mapping)]
    for key, value in document.items():
        if isinstance(value, Mapping):
            lines += _table(key, value)
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return a text of one line that every terminal and file can have."""
    return " ".join(visible(text.encode(errors="backslashreplace").decode()).split())


def _table(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if plain or not table:
        yield from ("", f"[{path}]")
        yield from (f"{key} = {_value(value)}" for key, value in plain.items())
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _table(f"{path}.{key}", value)


def _value(value: object) -> str:
    """Return a value in TOML, whose basic strings hold everything that JSON's do except DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
