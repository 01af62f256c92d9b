"""Check whether a trial's traces show the transport parameters that knobs set. Pure.

What an end offers is in its peer's log as it arrived, or else in its own as it was sent. A log without parameters
contradicts nothing.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from longlook.analysis.congestion_check import declared_of
from longlook.core.model import Endpoint, Scalar, Trial, Vantage
from longlook.timeline.events import EventKind, Events, among
from longlook.timeline.timeline import Timeline

COLUMNS = ("time_ns", "vantage", "source", "kind", "flow", "name", "detail")
"""The columns of a file of events that `parameter_contradictions` reads."""

_STREAM = {"client": "initial_max_stream_data_bidi_local", "server": "initial_max_stream_data_bidi_remote"}
_MS_PER_S = 1000
KNOBS = frozenset({"initial_stream_window", "initial_connection_window", "max_ack_delay"})
"""Knobs whose value an end sends to its peer."""
_REMOTE, _LOCAL = "remote", "local"


def sets_parameters(trial: Trial) -> bool:
    """Return whether a knob of a trial's ends sets a parameter that they send each other."""
    ends = [end for flow in trial.each_flow() for end in (flow.client, flow.server)]
    return any(not KNOBS.isdisjoint(end.knobs) for end in ends)


def parameter_contradictions(trial: Trial, timeline: Timeline, events: Events) -> list[str]:
    """Return a sentence for each knob that the traces contradict."""
    found: dict[str, None] = {}
    for flow, offered in _offered(events).items():
        if (view := declared_of(trial, timeline, flow)) is None:
            continue
        name, own = view
        prefix = f"flow {name}: " if name else ""
        for role, end in (("client", own.client), ("server", own.server)):
            found |= {prefix + text: None for text in _of_end(role, end, offered.get(role, {}))}
    return list(found)


def _offered(events: Events) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return the parameters of each connection by the role that offers them; the peer's log counts first."""
    rows = events.table.filter(among(events.table["kind"], [EventKind.PARAMETERS]))
    columns = [rows[name].cast(pa.string()).to_pylist() for name in ("flow", "vantage", "name", "detail")]
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for owner in (_LOCAL, _REMOTE):  # the second replaces the first
        for flow, vantage, name, detail in zip(*columns, strict=True):
            if flow is not None and name == owner and (values := _read(detail)):
                other = Vantage.CLIENT if vantage == Vantage.SERVER else Vantage.SERVER
                found.setdefault(flow, {})[str(vantage if owner == _LOCAL else other)] = values
    return found


def _read(detail: str | None) -> Mapping[str, Any]:
    try:
        values = json.loads(detail or "")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _of_end(role: str, end: Endpoint, offered: Mapping[str, Any]) -> Iterator[str]:
    for knob in sorted(KNOBS & end.knobs.keys()):
        parameter, wanted = _parameter(role, knob, end.knobs)
        value = offered.get(parameter)
        if wanted is not None and value is not None and _number(value) != wanted:
            yield f"the {role} offers {parameter} = {value}, declared {knob} = {end.knobs[knob]}"


def _parameter(role: str, knob: str, knobs: Mapping[str, Scalar]) -> tuple[str, int | None]:
    """Return the parameter that a knob sets, and its value; None where another knob may bound it."""
    if knob == "max_ack_delay":
        return knob, round(float(knobs[knob]) * _MS_PER_S)
    wanted = int(knobs[knob])
    largest = int(knobs.get(knob.replace("initial_", "max_"), wanted))
    parameter = _STREAM[role] if knob == "initial_stream_window" else "initial_max_data"
    return parameter, wanted if largest >= wanted else None


def _number(value: Any) -> float | None:
    """Return a parameter as a number; some logs have it as text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
