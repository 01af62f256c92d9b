"""Check whether a trial's traces show the congestion control and transport parameters that were declared or set. Pure.

Programs may ignore their configuration, and a name in a log proves little. The share of the window that is left after a
loss is evidence. It is 0.5 with Reno (RFC 9002, 7.3.2), 0.7 with Cubic (RFC 9438), and 1 - 0.3/N with a controller that
acts for N connections. A stack may declare another value (`Knob.window_after_loss`), and a trial may set one.
Controllers that model the path are recognised by their states.

The peer's log has an end's transport parameters as they arrived, else its own log as they were sent. A log without
parameters contradicts nothing.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from longlook.core import EITHER, RFC_WINDOW_AFTER_LOSS, Endpoint, Scalar, Trial, Vantage, registry
from longlook.timeline import EventKind, Events, Kind, Timeline, among, server_of

CONGESTION_COLUMNS = (
    "time_ns",
    "vantage",
    "source",
    "kind",
    "priming",
    "flow",
    "name",
    "cwnd_bytes",
    "srtt_ns",
    "size_bytes",
)
"""The columns of a file of events that `contradictions` reads."""

_AFTER_LOSS = "window_after_loss"
"""The knob, and the setting of the kernel's Cubic, that changes it."""
FEWEST_LOSSES = 5
"""The smallest number of recoveries, not counting the first, whose median is used. The first ends slow start."""
TOLERANCE = 0.1
SMALLEST_WINDOW_PACKETS = 8
"""The smallest window that is judged: stacks have a minimum window, which a loss does not reduce further."""
DROPPED_WITHIN_ROUND_TRIPS = 3
"""The longest time between a drop and the recovery from it: acknowledgements tell of it a round trip later."""
SHORTEST_RECOVERY_ROUND_TRIPS = 0.5
"""A recovery lasts until what was sent before it is acknowledged, a round trip; a shorter one was called off."""
_COMMON_MSS_BYTES = 1200
_GROWN = 2.2  # a log may begin after the first round trip, in which slow start doubles the window

Integers = npt.NDArray[np.int64]


def contradictions(trial: Trial, timeline: Timeline, events: Events) -> list[str]:
    """Return a sentence for each declaration that the servers' traces contradict; traces without evidence contradict
    nothing.
    """
    found, drops_ns = [], _drops_ns(timeline)
    for flow, vantage in events.senders():
        if vantage == Vantage.SERVER and (view := declared_of(trial, timeline, flow)) is not None:
            name, own = view
            prefix = f"flow {name}: " if name else ""
            found += [prefix + text for text in _of_sender(own, events, flow, drops_ns)]
    return found


def window_after_losses(
    metrics: pa.Table,
    recoveries_ns: Integers,
    lasted_ns: Integers,
    drops_ns: Integers,
    packet_bytes: int,
    smallest_packets: float = SMALLEST_WINDOW_PACKETS,
) -> npt.NDArray[np.float64]:
    """Return the share of the window that each recovery but the first left within a round trip and a half.

    `metrics` are rows of a sender's metrics with cwnd_bytes; `drops_ns`, in order, are the times at which the link
    dropped a packet. A recovery counts only if a drop came shortly before it and it was not called off. Otherwise
    packets had overtaken each other, and the sender took its cut back. Recoveries of windows below `smallest_packets`
    are left out.
    """
    times_ns, windows = metrics["time_ns"].to_numpy(), metrics["cwnd_bytes"].to_numpy()
    rtt_ns = metrics["srtt_ns"].fill_null(0).to_numpy()
    before = np.searchsorted(times_ns, recoveries_ns[1:], side="left") - 1
    found = []
    for start_ns, recovery_ns, index in zip(
        recoveries_ns[1:].tolist(), lasted_ns[1:].tolist(), before.tolist(), strict=True
    ):
        if index < 0 or windows[index] < smallest_packets * packet_bytes or rtt_ns[index] <= 0:
            continue
        if recovery_ns < SHORTEST_RECOVERY_ROUND_TRIPS * rtt_ns[index]:
            continue
        last_drop = int(np.searchsorted(drops_ns, start_ns, side="right")) - 1
        if last_drop < 0 or drops_ns[last_drop] < start_ns - DROPPED_WITHIN_ROUND_TRIPS * rtt_ns[index]:
            continue
        behind = windows[index + 1 : np.searchsorted(times_ns, start_ns + 1.5 * rtt_ns[index], side="right")]
        if len(behind):
            found.append(float(behind.min() / windows[index]))
    return np.array(found, np.float64)


def _drops_ns(timeline: Timeline) -> Integers:
    """Return when the link dropped packets on their way to the clients, in order."""
    rows = timeline.select([Kind.PACKET_DROPPED], Vantage.LINK)
    return np.sort(rows.filter(among(rows["direction"], ["down"]))["arrival_ns"].to_numpy())


def declared_of(trial: Trial, timeline: Timeline, flow: str) -> tuple[str, Trial] | None:
    """Return the flow's name and the trial as that flow declares it, or None if the flow is not part of the trial."""
    if not trial.competes:
        return "", _as_carried(trial, flow)
    places = {fact["server_address"]: fact["name"] for fact in timeline.metadata["competition"]["flows"]}
    return next(
        ((own.name, trial.with_only(own)) for own in trial.each_flow() if own.name == places.get(server_of(flow))), None
    )


def _as_carried(trial: Trial, flow: str) -> Trial:
    """Return the trial as one of its flows declares it: of a client that chooses, QUIC has the knobs, TCP the rest."""
    if trial.protocol != EITHER.name:
        return trial
    if flow.startswith("udp "):
        return replace(trial, congestion_control=None)
    return replace(trial, server=replace(trial.server, knobs={}))


def _of_sender(trial: Trial, events: Events, flow: str, drops_ns: Integers) -> Iterator[str]:
    knobs = trial.server.knobs
    controller = trial.congestion_control or knobs.get("congestion_control")
    rows = events.select([EventKind.METRICS, EventKind.STATE, EventKind.PACKET_SENT], Vantage.SERVER, flow)
    states = rows.filter(among(rows["kind"], [EventKind.STATE]))
    metrics = rows.filter(among(rows["kind"], [EventKind.METRICS]))
    metrics = metrics.filter(metrics["cwnd_bytes"].is_valid())
    if controller is not None:
        yield from _wrong_controller(str(controller), trial, states, metrics, drops_ns, _packet_bytes(rows))
    wanted = knobs.get("initial_window")
    if wanted is not None and metrics.num_rows:
        wanted = min(int(wanted), int(knobs.get("max_window", wanted)))
        packets = metrics["cwnd_bytes"][0].as_py() / _packet_bytes(rows)
        if not 0.8 * wanted <= packets <= _GROWN * wanted:
            yield f"its log begins with a window of {packets:.0f} packets, declared {wanted}"


def _wrong_controller(
    controller: str, trial: Trial, states: pa.Table, metrics: pa.Table, drops_ns: Integers, packet_bytes: int
) -> Iterator[str]:
    names = set(states["name"].cast(pa.string()).to_pylist())
    models = any(name and name.startswith("bbr_") for name in names)
    if controller.startswith("bbr"):
        if trial.congestion_control is not None and names and not models:
            yield f"its trace shows no state of BBR, declared {controller}"
        return
    if models:
        yield f"its trace shows states of BBR, declared {controller}"
        return
    expected = _expected(controller, trial)
    begins_ns = states["time_ns"].to_numpy()
    lasted_ns = np.diff(begins_ns, append=np.iinfo(np.int64).max)
    recovering = np.asarray(among(states["name"], ["recovery"]))
    recoveries_ns = begins_ns[recovering]
    if expected is None or not metrics.num_rows:
        return
    smallest = int(trial.server.knobs.get("min_window", 1)) / expected  # below it a loss cannot leave that share
    shares = window_after_losses(
        metrics, recoveries_ns, lasted_ns[recovering], drops_ns, packet_bytes, max(smallest, SMALLEST_WINDOW_PACKETS)
    )
    if len(shares) >= FEWEST_LOSSES and abs(float(np.median(shares)) - expected) > TOLERANCE:
        yield (
            f"{len(shares)} losses left ×{np.median(shares):.2f} of its window, declared {controller}, "
            f"which leaves ×{expected:.2f}"
        )


def _expected(controller: str, trial: Trial) -> float | None:
    """Return the share of the window that one loss leaves, or None if the controller is unknown."""
    if trial.congestion_control is not None:
        usual = RFC_WINDOW_AFTER_LOSS.get(controller)
        return float(trial.tcp[_AFTER_LOSS]) if _AFTER_LOSS in trial.tcp and controller == "cubic" else usual
    knobs: Mapping[str, Any] = trial.server.knobs
    stack = registry.stack(trial.server.stack)
    own = knobs.get(_AFTER_LOSS, stack.knobs["congestion_control"].window_after_loss.get(controller))
    left = own if own is not None else RFC_WINDOW_AFTER_LOSS.get(controller)
    if left is None or controller != "cubic":
        return left
    return 1 - (1 - left) / int(knobs.get("emulated_connections", 1))


def _packet_bytes(rows: pa.Table) -> int:
    """Return the size of a full packet: the median of the sizes that are not below QUIC's minimum."""
    sent = rows.filter(among(rows["kind"], [EventKind.PACKET_SENT]))["size_bytes"].drop_null().to_numpy()
    sent = sent[sent >= _COMMON_MSS_BYTES]
    return int(np.median(sent)) if len(sent) else _COMMON_MSS_BYTES


PARAMETER_COLUMNS = ("time_ns", "vantage", "source", "kind", "flow", "name", "detail")
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
    """Return the parameter that a knob sets, and its value; None if another knob may bound it."""
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
