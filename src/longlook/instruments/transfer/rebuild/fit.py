"""A transfer that was recorded at one end → the first fit of the trial that repeats it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from longlook.core import InputError, Scalar, Stack, units
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.reading import End
from longlook.instruments.transfer.rebuild.losses import Losses, losses_of
from longlook.instruments.transfer.rebuild.parts import (
    BELOW_BYTES,
    LARGEST_RATE_BPS,
    QUEUE,
    RATE,
    RTT,
    WORKLOAD,
    Fitted,
    Rebuilt,
    rate_text,
    size_text,
    time_text,
)
from longlook.instruments.transfer.rebuild.programs import programs_of
from longlook.instruments.transfer.rebuild.rates import ROOM, seen_rate
from longlook.instruments.transfer.recording import UNKNOWN, Recording, matched

_OVERHEAD_BYTES = 34
"""Header, tag and frame of a QUIC packet with data of a stream, or TCP's header with timestamps and TLS: no data."""
_TLS_SHARE = 0.997
"""The share of the data in a stream of TCP that is left without records of TLS and frames of HTTP/2."""
_LONG_BDP, _LONG_BYTES = 8, 96_000
"""A queue that drops nothing: bandwidth-delay products, and bytes if these are more."""
_CLEAR = 0.1
"""Sizes of objects that differ by more are said to differ."""


def fit_transfer(answer: TransferAnswer, stacks: Mapping[str, Stack], given: Mapping[str, Scalar]) -> Rebuilt:
    """Return the first fit of a transfer, in which settings that are given stand above the trace's.

    InputError for what no trial can repeat, and for a rate that is given and cannot be.
    """
    recording = answer.recording
    shortest_ns = answer.path.shortest_rtt_ns
    if shortest_ns is None:
        raise InputError(f"{recording.name} shows no round trip, so no path can be made", _other_end(recording))
    if recording.is_quic and (answer.case.data.number == UNKNOWN).all():
        raise InputError(
            f"{recording.name}: without numbers of packets nobody can say what was lost and sent again",
            "give the TLS secrets of the capture: --keys sslkeylog.txt",
        )
    uplink = recording.end != "unknown" and (recording.end == "client") == recording.sends
    way = "up" if uplink else "down"
    losses = losses_of(answer)
    workload, load, load_bytes = _workload(answer, losses, uplink=uplink)
    rate_bps, rate = _rate(answer, losses, given, way, load_bytes)
    parts = [
        Fitted("round trip", time_text(shortest_ns), "the shortest of the trace", (RTT,)),
        rate,
        _queue(answer, losses, rate_bps, way),
        *programs_of(recording, stacks, uplink=uplink),
        load,
        Fitted("losses", len(losses.places), _about_losses(recording)),
    ]
    end: End = (
        "client" if recording.end == "client" or (recording.end == "unknown" and not recording.sends) else "server"
    )
    own = {key.removeprefix(WORKLOAD): value for key, value in given.items() if key.startswith(WORKLOAD)}
    settings = {key: value for key, value in given.items() if not key.startswith(WORKLOAD)}
    named = {key: Fitted(key, value, "given by --set") for key, value in given.items()}
    lacks = (*losses.lacks, *_lacks(recording))
    blank = Rebuilt(end, uplink, given, settings, {**workload, **own}, named, losses.places, lacks)
    return blank.corrected(*(part for part in parts if part is not load or not own))


def _other_end(recording: Recording) -> str:
    """Return the advice to take a better trace."""
    return "take the trace of the other end" if recording.sends else "take the sender's trace"


def _about_losses(recording: Recording) -> str:
    if recording.sends:
        return "packets that were lost while no queue was half full are dropped again, one by one"
    return "packets that never came are dropped again, one by one, also if a queue of the path had dropped them"


def _lacks(recording: Recording) -> list[str]:
    lacks = ["Jitter, reordering and competing traffic of the path are not in the trial."]
    if not recording.handshake_seen:
        lacks.append("The trace begins after the handshake; the trial has one, and is compared from its end on.")
    if recording.end == "unknown":
        lacks.append("The trace does not name its end: the end that sends is taken for the server.")
    return lacks


def _rate(
    answer: TransferAnswer, losses: Losses, given: Mapping[str, Scalar], way: str, load_bytes: int
) -> tuple[float, Fitted]:
    """Return the rate of the data's direction in bit/s on the link, and the part of the fit that says so."""
    name = answer.recording.name
    sizes = answer.case.data.size_bytes
    usual = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1200.0
    on_link = 1 + BELOW_BYTES[answer.recording.protocol] / usual
    seen_bps, found = seen_rate(answer, losses)
    own = given.get(f"network.{way}.rate", given.get(RATE))
    if own is not None:
        given_bps = _given_rate_bps(own)
        return given_bps or (seen_bps or 1e6) * on_link, Fitted("rate", own, "given by --set", (RATE,))
    if not seen_bps:
        raise InputError(
            f"{name}: its packets have no sizes, or are too few to show a rate", _other_end(answer.recording)
        )
    arrived = answer.path.rate_bps or answer.path.mean_rate_bps or 0.0
    if arrived > LARGEST_RATE_BPS:
        raise InputError(
            f"{name}: data arrived at {units.print_rate(int(round(arrived, -6)))}, and above "
            f"{units.print_rate(LARGEST_RATE_BPS)} the ends' processors decide, which cost no time in a trial",
            "if you know that the path was slower, name its rate: --set network.rate=100Mbit",
        )
    bps = seen_bps * on_link
    needed_bps = load_bytes * 8e9 / answer.intervals.total_ns
    if bps < needed_bps:
        bps, found = (
            ROOM * needed_bps,
            f"{ROOM} times the rate of the load, as the recorded packets show less than that",
        )
    if bps > LARGEST_RATE_BPS:
        bps, found = LARGEST_RATE_BPS, f"{found}; no more than the fastest link of a trial"
    return bps, Fitted("rate", rate_text(bps), found, (RATE,))


def _given_rate_bps(value: Scalar) -> int | None:
    """Return a rate that the user gave, None if it varies. InputError for no rate, and for one above the largest."""
    if isinstance(value, str) and "(" in value:
        return None
    try:
        rate_bps = units.parse_rate(value)
    except units.UnitError as error:
        raise InputError(f"--set {RATE}={value}: {error}", f"write for example --set {RATE}=10Mbit") from error
    if rate_bps > LARGEST_RATE_BPS:
        raise InputError(
            f"--set {RATE}={value}: above {units.print_rate(LARGEST_RATE_BPS)} the ends' processors decide, which cost "
            "no time in a trial",
            "name a lower rate",
        )
    return rate_bps


def _queue(answer: TransferAnswer, losses: Losses, rate_bps: float, way: str) -> Fitted:
    keys = (QUEUE.replace(".", f".{way}."),)
    path = answer.path
    long = size_text(max(_LONG_BDP * rate_bps * (path.shortest_rtt_ns or 0) / 8e9, _LONG_BYTES))
    if not answer.recording.sends and losses.places:
        return Fitted("queue", long, "long, as all packets that never came are dropped before it", keys)
    if not answer.case.bottlenecked or path.queue_ns is None:
        return Fitted("queue", long, "no queue was seen: long, to drop nothing", keys)
    held_bytes = rate_bps * path.queue_ns / 8e9
    if losses.at_full_queue:
        return Fitted("queue", size_text(held_bytes), "the longest wait at this rate; packets were lost at it", keys)
    found = "twice the longest wait at this rate, as nothing was lost while it was half full"
    return Fitted("queue", size_text(2 * held_bytes), found, keys)


@dataclass(frozen=True)
class Request:
    """A stream of a request: when its first and its last data were seen, and its bytes, None if they were sent."""

    start_ns: int
    end_ns: int
    size_bytes: int | None


def requests_of(recording: Recording) -> list[Request]:
    """Return the client's bidirectional streams (RFC 9000, 2.1) that had data, in order of time; none of TCP."""
    parts = recording.streams
    if not recording.is_quic:
        return []
    found = []
    for stream in np.unique(parts.stream[(parts.stream >= 0) & (parts.stream % 4 == 0)]).tolist():
        own = parts.stream == stream
        size_bytes = int((parts.offset_bytes[own] + parts.size_bytes[own]).max())
        if size_bytes:
            times_ns = parts.time_ns[own]
            known = None if recording.sends else size_bytes
            found.append(Request(int(times_ns.min()), int(times_ns.max()), known))
    return sorted(found, key=lambda each: each.start_ns)


def _workload(answer: TransferAnswer, losses: Losses, *, uplink: bool) -> tuple[dict[str, Scalar], Fitted, int]:
    """Return the workload, the part of the fit that says so, and its bytes."""
    recording = answer.recording
    requests = requests_of(recording)
    count = max(1, len(requests))
    sizes = [each.size_bytes for each in requests if each.size_bytes is not None]
    found = "the bytes of its streams"
    if sizes:
        total = sum(sizes)
    elif not recording.is_quic and not recording.sends:
        total = round(int(recording.streams.size_bytes.sum()) * _TLS_SHARE)
    else:
        total, found = (
            _payload_bytes(answer, losses),
            "the bytes of its packets, less headers and packets that were lost",
        )
    size = max(1, round(total / count))
    workload: dict[str, Scalar] = {"kind": "upload" if uplink else "download", "object": units.print_size(size)}
    if count == 1:
        return workload, Fitted("load", units.print_bytes(size), found), total
    workload["objects"] = count
    text = f"{count} objects of {units.print_bytes(size)}"
    if not sizes:
        found += "; a sender's trace does not say how large each was"
    elif max(sizes) > (1 + _CLEAR) * min(sizes):
        found += "; the sizes differ, and each has the mean here"
    if sizes and all(later.start_ns >= before.end_ns for before, later in pairwise(requests)):
        workload["at_once"] = 1
        text += ", one after the other"
        pause_ns = np.median([later.start_ns - before.end_ns for before, later in pairwise(requests)])
        idle_ms = round((float(pause_ns) - (answer.path.shortest_rtt_ns or 0)) / 1e6)
        if idle_ms > 0:
            workload["idle"] = f"{idle_ms}ms"
            text += f", with {idle_ms} ms between them"
    return workload, Fitted("load", text, found), total


def _payload_bytes(answer: TransferAnswer, losses: Losses) -> int:
    """Return about how many bytes of streams the packets with data had, each once."""
    data = answer.case.data
    place = matched(losses.lost, data)
    again = data.size_bytes[place[place >= 0]]
    carried_bytes = int(np.maximum(data.size_bytes, 0).sum()) - int(np.maximum(again, 0).sum())
    return max(1, carried_bytes - _OVERHEAD_BYTES * (len(data) - len(again)))
