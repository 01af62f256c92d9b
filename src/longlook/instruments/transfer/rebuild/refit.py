"""A trial of a fit beside the trace → a better fit: everything is made alike that differs and can be set. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from longlook.core import units
from longlook.explain import Integers
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.rebuild.losses import losses_of, missing_places
from longlook.instruments.transfer.rebuild.parts import (
    BELOW_BYTES,
    LARGEST_RATE_BPS,
    RATE,
    RTT,
    Fitted,
    Rebuilt,
    is_given,
    rate_text,
    time_text,
)
from longlook.instruments.transfer.rebuild.rates import queued_rate_bps
from longlook.instruments.transfer.recording import APPLICATION, Recording

_LEAST_FOR_ALL_BYTES = 1280
"""A path that passes no larger packets lets the first packets of every program pass: some begin with this size."""
_LEAST_RTT_SHARE = 0.05
"""The fitted round trip is never a smaller part of the trace's: the rest is the ends' own time."""
_CLEAR = 0.1
_FINE = 0.01
"""Figures of trace and trial that differ by more are made alike."""


def refit(
    rebuilt: Rebuilt,
    wanted: TransferAnswer,
    trial: TransferAnswer,
    link_packets: int,
    knobs: Mapping[str, Sequence[str]],
) -> Rebuilt:
    """Return the fit corrected by a trial of it; `wanted` is the trace's answer.

    `link_packets` is how many packets the sender of the data put on the link, `knobs` has the names of the settings of
    the program at each end.
    """
    corrected = _with_path(rebuilt, wanted, trial)
    corrected = _with_packet_size(corrected, wanted, trial, knobs)
    corrected = _with_window(corrected, wanted, trial, knobs)
    corrected = _with_credit(corrected, wanted, trial, knobs)
    return replace(corrected, first_place=_first_place(trial.recording, link_packets))


def drops(rebuilt: Rebuilt) -> str:
    """Return the losses as surgery of the sender's direction (docs/reference/study-network.md), "" for none."""
    if not rebuilt.dropped or rebuilt.first_place is None:
        return ""
    places: Integers = np.asarray(rebuilt.dropped, np.int64) + rebuilt.first_place
    ends = np.flatnonzero(np.append(np.diff(places) > 1, [True]))
    begins = np.concatenate([[0], ends[:-1] + 1])
    ranges = (f"{places[a]}-{places[b]}" if b > a else f"{places[a]}" for a, b in zip(begins, ends, strict=True))
    return f"drop {', '.join(ranges)}"


def _first_place(trial: Recording, link_packets: int) -> int:
    """Return how many packets the sender put on the link before its first 1-RTT packet.

    From the first 1-RTT packet on each packet on the link has one: the others are of the handshake, and before it.
    """
    data = trial.sent if trial.sends else trial.received
    count = len(np.unique(data.number[data.space == APPLICATION]))
    return max(0, link_packets - count - (0 if trial.sends else len(missing_places(trial)[0])))


def _with_path(rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer) -> Rebuilt:
    wanted_ns, had_ns = wanted.path.shortest_rtt_ns, trial.path.shortest_rtt_ns
    if wanted_ns is not None and had_ns is not None and not is_given(rebuilt.given, RTT):
        now_ns = units.parse_time(rebuilt.settings[RTT]) + wanted_ns - had_ns
        found = "so that the shortest round trip of the trial is the trace's"
        text = time_text(max(now_ns, _LEAST_RTT_SHARE * wanted_ns))
        rebuilt = rebuilt.corrected(Fitted("round trip", text, found, (RTT,)))
    wanted_bps = queued_rate_bps(wanted, losses_of(wanted))
    had_bps = queued_rate_bps(trial, losses_of(trial))
    is_fixed = is_given(rebuilt.given, RATE) or f"network.{rebuilt.way}.rate" in rebuilt.given
    both_queue = wanted.case.bottlenecked and trial.case.bottlenecked
    if is_fixed or not both_queue or wanted_bps is None or had_bps is None:
        return rebuilt
    factor = wanted_bps / had_bps
    if abs(factor - 1) > _FINE:
        rate = rate_text(min(units.parse_rate(rebuilt.settings[RATE]) * factor, LARGEST_RATE_BPS))
        rebuilt = rebuilt.corrected(
            Fitted("rate", rate, "so that packets leave its queue as fast as in the trace", (RATE,))
        )
    return rebuilt


def _with_packet_size(
    rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer, knobs: Mapping[str, Sequence[str]]
) -> Rebuilt:
    wanted_bytes, had_bytes = (int(each.case.data.size_bytes.max(initial=0)) for each in (wanted, trial))
    if wanted_bytes == had_bytes or wanted_bytes <= 0:
        return rebuilt
    found = f"the largest packet of the trace has {wanted_bytes} bytes, of the trial it had {had_bytes}"
    if _LEAST_FOR_ALL_BYTES <= wanted_bytes < had_bytes:
        size = units.print_size(wanted_bytes + BELOW_BYTES[wanted.recording.protocol])
        return rebuilt.corrected(Fitted("MTU", size, found, ("network.mtu",)))
    if wanted_bytes < had_bytes and "max_udp_payload" in knobs[rebuilt.sender]:
        return rebuilt.corrected(Fitted("packets", wanted_bytes, found, (f"{rebuilt.sender}_knobs.max_udp_payload",)))
    return rebuilt.lacking(f"{_begun(found)}.")


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]


def _with_window(
    rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer, knobs: Mapping[str, Sequence[str]]
) -> Rebuilt:
    wanted_bytes, had_bytes = (each.recording.figures.cwnd_bytes.value[:1].tolist() for each in (wanted, trial))
    if not wanted_bytes or not had_bytes or abs(wanted_bytes[0] / had_bytes[0] - 1) <= _CLEAR:
        return rebuilt
    texts = [units.print_bytes(each[0]) for each in (wanted_bytes, had_bytes)]
    said = f"the first window of the trace is {texts[0]}, of the trial {texts[1]}"
    if "initial_window" not in knobs[rebuilt.sender]:
        return rebuilt.lacking(f"{_begun(said)}, and its program has no setting for it.")
    packets = max(1, round(wanted_bytes[0] / max(1, int(wanted.case.data.size_bytes.max(initial=1200)))))
    return rebuilt.corrected(Fitted("first window", packets, said, (f"{rebuilt.sender}_knobs.initial_window",)))


_CREDIT = {
    "initial_max_data": ("initial_connection_window", "max_connection_window"),
    "initial_max_stream_data_bidi_local": ("initial_stream_window", "max_stream_window"),
}
"""Transport parameters of a client that receives (RFC 9000, 18.2) → the settings for it and for its growth."""


def _with_credit(
    rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer, knobs: Mapping[str, Sequence[str]]
) -> Rebuilt:
    if rebuilt.uplink:
        return rebuilt
    whose = "local" if rebuilt.end == "client" else "remote"
    wanted_values, had_values = (each.recording.parameters.get(whose, {}) for each in (wanted, trial))
    for parameter, (knob, largest) in _CREDIT.items():
        value, had = wanted_values.get(parameter), had_values.get(parameter)
        if not isinstance(value, int) or not isinstance(had, int) or value == had:
            continue
        said = f"the client's {parameter} is {value:,} in the trace, and {had:,} in the trial"
        if knob not in knobs["client"]:
            rebuilt = rebuilt.lacking(f"{_begun(said)}, whose program has no setting for it.")
            continue
        keys = [knob, *([largest] if largest in knobs["client"] and value > had else ())]
        rebuilt = rebuilt.corrected(Fitted(parameter, value, said, tuple(f"client_knobs.{key}" for key in keys)))
    return rebuilt
