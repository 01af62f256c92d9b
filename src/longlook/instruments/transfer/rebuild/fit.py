"""A transfer that was recorded at one end → the trial that repeats it: path, program, load and losses. Pure.

The first fit reads the trace. `refit` compares the trace with the trace of a trial of that fit, and corrects everything
in which both differ and that a study can set.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from longlook.core import InputError, Scalar, Stack, units
from longlook.explain import Integers
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.recording import APPLICATION, Packets, Recording, StreamParts, matched
from longlook.instruments.transfer.sender import BURST_NS

LARGEST_RATE_BPS = 200_000_000
"""Above this rate an end's processor decides, and it costs no time in a trial."""
_BELOW = {"QUIC": 28, "TCP": 20}
"""Bytes of IP and UDP, or of IP, that the size of a packet lacks; IPv6 has 20 more."""
_FRAME_BYTES = {"QUIC": 34, "TCP": 34}
"""Header, tag and frame of a QUIC packet with data of a stream, or TCP's header with timestamps and TLS: no data."""
_TLS_SHARE = 0.997
"""The share of the data in a stream of TCP that is left without records of TLS and frames of HTTP/2."""
_LEAST_FOR_ALL = 1280
"""A path that passes no larger packets lets the first packets of every program pass: some begin with this size."""
_ROOM = 4
"""A path that showed no queue is made so much faster than anything that arrived, and then limits nothing."""
_MOST_LOSSES = 2_000
_CLEAR = 0.1
_FINE = 0.01
"""Figures of trace and trial that differ by more are made alike."""
_LEAST_WAITS = 16
_LEAST_TRAIN = 6
_CLOSE = 20
_DEFAULT = "quic-go"
_RTT, _RATE, _WORKLOAD = "network.rtt", "network.rate", "workload."


@dataclass(frozen=True)
class Fitted:
    """A part of the rebuilt transfer: its name, its value, how it was found, and the settings that have the value."""

    what: str
    value: Scalar
    found: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rebuilt:
    """A transfer as a trial can repeat it.

    `settings` are keys of the study's arm and of its network, `given` the user's among them, which no fit changes.
    `dropped` are places among the sender's 1-RTT packets, `first_place` is the place of the first of these among the
    sender's packets on the link, None before a trial has shown it. `lacks` has a sentence for everything in the trace
    that the trial does not have.
    """

    end: str  # client or server: the end that was recorded
    uplink: bool  # the client sends the data
    settings: Mapping[str, Scalar]
    given: Mapping[str, Scalar]
    workload: Mapping[str, Scalar]
    fitted: Mapping[str, Fitted]  # by `what`
    dropped: tuple[int, ...]
    lacks: tuple[str, ...]
    first_place: int | None = None

    @property
    def way(self) -> str:
        """The direction of the data: `up` or `down`."""
        return "up" if self.uplink else "down"

    @property
    def sender(self) -> str:
        """The end that sends the data."""
        return "client" if self.uplink else "server"

    def corrected(self, *parts: Fitted) -> "Rebuilt":
        """Return the same with other values of some parts; settings that the user gave stay."""
        mine = [part for part in parts if not self.given.keys() & {*part.keys}]
        settings = {**self.settings, **{key: part.value for part in mine for key in part.keys}}
        return replace(self, settings=settings, fitted={**self.fitted, **{part.what: part for part in mine}})

    def lacking(self, sentence: str) -> "Rebuilt":
        """Return the same with another sentence about what the trial lacks."""
        return replace(self, lacks=(*dict.fromkeys((*self.lacks, sentence)),))


def fit_transfer(answer: TransferAnswer, stacks: Mapping[str, Stack], given: Mapping[str, Scalar]) -> Rebuilt:
    """Return the first fit of a transfer, in which settings that are given stand above the trace's.

    InputError for what no trial can repeat.
    """
    recording, path = answer.recording, answer.path
    if path.shortest_rtt_ns is None:
        raise InputError(f"{recording.name} shows no round trip, so no path can be made", "take the sender's trace")
    uplink = recording.end != "unknown" and (recording.end == "client") == recording.sends
    rate = _rate_of(answer, given)
    dropped, lacks = _losses(answer)
    way = "up" if uplink else "down"
    queue = _queue(answer, units.parse_rate(given.get(_RATE, rate.value)), way, dropped)
    workload, load = _workload(answer, uplink=uplink)
    losses = Fitted("losses", len(dropped), "packets that were lost while no queue was half full are dropped again")
    round_trip = Fitted("round trip", _time(path.shortest_rtt_ns), "the shortest of the trace", (_RTT,))
    if not recording.handshake_seen:
        lacks.append("The trace begins after the handshake; the trial has one, and is compared from its end on.")
    if recording.end == "unknown":
        lacks.append("The trace does not name its end: the end that sends is taken for the server.")
    lacks.append("Jitter, reordering and competing traffic of the path are not in the trial.")
    end = recording.end if recording.end != "unknown" else ("server" if recording.sends else "client")
    own = {key.removeprefix(_WORKLOAD): value for key, value in given.items() if key.startswith(_WORKLOAD)}
    others = {key: value for key, value in given.items() if not key.startswith(_WORKLOAD)}
    blank = Rebuilt(end, uplink, others, others, {**workload, **own}, {}, tuple(dropped), tuple(lacks))
    programs = [_program(recording.producer, stacks)] if is_quic(recording) else _kernel(stacks)
    return blank.corrected(round_trip, rate, queue, *programs, load, losses)


def is_quic(recording: Recording) -> bool:
    """Return whether a recording is of QUIC; else it is of TCP."""
    return recording.protocol == "QUIC"


def _time(ns: float) -> str:
    return units.print_time(max(1, round(ns)))


def _rate(bps: float) -> str:
    """Return a rate with four digits: a trace does not show more."""
    digits = max(0, len(str(int(bps))) - 4)
    return units.print_rate(int(round(bps, -digits)))


def _size(size_bytes: float) -> str:
    """Return the size of a queue in whole hundreds of bytes, a packet's at least."""
    return units.print_size(max(1500, int(round(size_bytes, -2))))


def queued_rate_bps(answer: TransferAnswer) -> float | None:
    """Return the rate at which a sender's packets left the queue of the path; None if no queue stood for long.

    A packet leaves the queue when its wait is over. The bytes of the longest time in which a queue stood, less those
    that were lost, are divided by the time from the first packet's leaving to the last packet's.
    """
    begins, ends = answer.case.waits
    if not answer.recording.sends or len(begins) < _LEAST_WAITS:
        return None
    bounds = np.flatnonzero(np.diff(begins) > (answer.path.median_rtt_ns or 0)) + 1
    firsts, lasts = np.append(0, bounds), np.append(bounds, len(begins)) - 1
    longest = int(np.argmax(ends[lasts] - ends[firsts]))
    first, last = int(firsts[longest]), int(lasts[longest])
    sent = 0
    for sign, packets in ((1, answer.case.data), (-1, _lost_as_sent(answer.recording))):
        own = (packets.time_ns > begins[first]) & (packets.time_ns <= begins[last])
        sent += sign * int(np.maximum(packets.size_bytes[own], 0).sum())
    span_ns = int(ends[last] - ends[first])
    return sent * 8e9 / span_ns if span_ns > 0 and sent > 0 else None


def burst_rate_bps(answer: TransferAnswer) -> float | None:
    """Return the rate at which packets that left together arrived (their dispersion: Dovrolis et al. 2001), or None.

    The path needs the time from the first to the last acknowledgement of such a train. In a receiver's trace packets
    that came close to each other are taken for trains, though a pacer may have spread them.
    """
    data, recording = answer.case.data, answer.recording
    if not recording.sends:
        gaps = np.diff(data.time_ns)
        close = (gaps > 0) & (gaps < (answer.path.shortest_rtt_ns or 0) // _CLOSE) & (data.size_bytes[1:] > 0)
        if int(close.sum()) < _LEAST_WAITS:
            return None
        return float(np.median(data.size_bytes[1:][close] * 8e9 / gaps[close]))
    place = matched(data, recording.acked)
    acked_ns = np.where(place >= 0, np.append(recording.acked.time_ns, 0)[place], -1)
    rates = []
    for train in np.split(np.arange(len(data)), np.flatnonzero(np.diff(data.time_ns) > BURST_NS) + 1):
        times, sizes = acked_ns[train], data.size_bytes[train]
        known = times >= 0
        if known.sum() < _LEAST_TRAIN or len(np.unique(times[known])) < _LEAST_TRAIN // 2:
            continue
        first, last = int(times[known].min()), int(times[known].max())
        rates.append(int(sizes[known & (times > first)].sum()) * 8e9 / (last - first))
    return float(np.median(rates)) if rates else None


def _rate_of(answer: TransferAnswer, given: Mapping[str, Scalar]) -> Fitted:
    name = answer.recording.name
    if _RATE in given:
        return Fitted("rate", given[_RATE], "given", (_RATE,))
    seen, found = _seen_rate(answer)
    if not seen:
        raise InputError(f"{name}: too little data, or no sizes of packets", "take the sender's trace")
    sizes = answer.case.data.size_bytes
    usual = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1200.0
    on_link = seen * (1 + _BELOW[answer.recording.protocol] / usual)
    arrived = answer.path.rate_bps or answer.path.mean_rate_bps or 0.0
    if arrived > LARGEST_RATE_BPS:
        raise InputError(
            f"{name}: data arrived at {units.print_rate(int(round(arrived, -6)))}, and above "
            f"{units.print_rate(LARGEST_RATE_BPS)} the ends' processors decide, which cost no time in a trial",
            "if you know that the path was slower, name its rate: --set network.rate=100Mbit",
        )
    return Fitted("rate", _rate(min(on_link, LARGEST_RATE_BPS)), found, (_RATE,))


def _seen_rate(answer: TransferAnswer) -> tuple[float | None, str]:
    """Return the rate of a path in bit/s of packets without their IP headers, and how it was seen."""
    queued, burst = queued_rate_bps(answer), burst_rate_bps(answer)
    steady = answer.path.rate_bps or answer.path.mean_rate_bps
    if queued is not None:
        return queued, "the rate at which packets left a standing queue"
    if burst is not None and (steady is None or burst >= steady):
        if answer.recording.sends:
            return burst, "the rate at which packets arrived that had left together"
        return burst, "the rate at which packets came that were close to each other: the path's, or a pacer's"
    if answer.recording.sends and steady is not None:
        return _ROOM * steady, f"no queue and no burst was seen: {_ROOM} times what arrived, to limit nothing"
    return steady, "the highest steady rate that arrived: the path's, or the pacer's of its sender"


def _queue(answer: TransferAnswer, rate_bps: int, way: str, dropped: Sequence[int]) -> Fitted:
    keys = (f"network.{way}.queue",)
    if not answer.recording.sends and dropped:
        return Fitted("queue", "8bdp", "long, as all packets that never came are dropped before it", keys)
    if not answer.case.bottlenecked or answer.path.queue_ns is None:
        return Fitted("queue", "8bdp", "no queue was seen: long, to drop nothing", keys)
    held = rate_bps * answer.path.queue_ns / 8e9
    if answer.case.at_full_queue(_lost_as_sent(answer.recording).time_ns).any():
        return Fitted("queue", _size(held), "the longest wait at this rate; packets were lost while it stood", keys)
    found = "twice the longest wait at this rate, as nothing was lost while it stood"
    return Fitted("queue", _size(2 * held), found, keys)


def _program(producer: str, stacks: Mapping[str, Stack]) -> Fitted:
    """Return the program that is nearest to the program of the trace, for both ends."""
    ends = ("server", "client")
    stack = next((each for name, each in stacks.items() if re.match(rf"{re.escape(name)}\b", producer.lower())), None)
    if stack is None or not {*ends} <= {*stack.end_roles}:
        stack = stacks[_DEFAULT]
        version, found = stack.default_version, f"{producer} is no program here at both ends: this one stands for it"
    elif (wanted := re.search(r"\d+(?:\.\d+)+", producer)) is None:
        version, found = stack.default_version, "the trace's program; the trace names no version"
    else:
        able = [each for each in stack.version_names if "+" not in each and stack.speaks(each, "h3")]
        version = min(able, key=lambda each: _distance(each, wanted.group()))
        same = version == wanted.group()
        found = "the trace's" if same else f"the nearest version here to {wanted.group()}, which the trace names"
    return Fitted("program", f"{stack.name}@{stack.with_knobs(version)[-1]}", found, ends)


def _kernel(stacks: Mapping[str, Stack]) -> list[Fitted]:
    """Return the programs and the settings of a transfer over TCP, which no capture names."""
    stack = stacks[_DEFAULT]
    said = "TCP is the kernel's; this program stands for the trace's"
    controller = Fitted("controller", "cubic", "Linux's own: a capture does not name it", ("congestion_control",))
    return [Fitted("program", f"{stack.name}@{stack.default_version}", said, ("server", "client")), controller]


def _distance(one: str, other: str) -> tuple[int, ...]:
    """Return how far apart two versions are: by their first number, then by their second, and so on."""
    numbers = [[int(each) for each in re.findall(r"\d+", text)[:4]] for text in (one, other)]
    first, second = ([*each, *[0] * (4 - len(each))] for each in numbers)
    return tuple(abs(a - b) for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class Request:
    """A stream of a request: when its first and its last data were seen, and its bytes, None if they were sent."""

    start_ns: int
    end_ns: int
    size_bytes: int | None


def requests_of(recording: Recording) -> list[Request]:
    """Return the client's bidirectional streams (RFC 9000, 2.1) that had data, in order of time."""
    parts = recording.streams
    if not is_quic(recording):
        return []
    found = []
    for stream in np.unique(parts.stream[(parts.stream >= 0) & (parts.stream % 4 == 0)]).tolist():
        own = parts.stream == stream
        size = int((parts.offset_bytes[own] + parts.size_bytes[own]).max())
        if size:
            times = parts.time_ns[own]
            found.append(Request(int(times.min()), int(times.max()), None if recording.sends else size))
    return sorted(found, key=lambda each: each.start_ns)


def _workload(answer: TransferAnswer, *, uplink: bool) -> tuple[dict[str, Scalar], Fitted]:
    requests = requests_of(answer.recording)
    count = max(1, len(requests))
    sizes = [each.size_bytes for each in requests if each.size_bytes is not None]
    found = "the bytes of its streams"
    if sizes:
        total = sum(sizes)
    elif answer.recording.sends:
        total, found = _payload_bytes(answer), "the bytes of its packets, less headers and packets that were lost"
    else:
        total = round(int(answer.recording.streams.size_bytes.sum()) * _TLS_SHARE)
    size = max(1, round(total / count))
    workload: dict[str, Scalar] = {"kind": "upload" if uplink else "download", "object": units.print_size(size)}
    if count == 1:
        return workload, Fitted("load", units.print_bytes(size), found)
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
    return workload, Fitted("load", text, found)


def _payload_bytes(answer: TransferAnswer) -> int:
    """Return about how many bytes of streams the packets of a sender had, each once."""
    data, lost = answer.case.data, _lost(answer.recording)
    place = matched(lost, data)
    again = data.size_bytes[place[place >= 0]]
    carried = int(np.maximum(data.size_bytes, 0).sum()) - int(np.maximum(again, 0).sum())
    return max(1, carried - _FRAME_BYTES[answer.recording.protocol] * (len(data) - len(again)))


def _lost(recording: Recording) -> Packets:
    """Return the packets of a sender that it declared lost and that were seen leaving.

    A sender that only counts its losses does not name them: its packets before the newest acknowledged one that no
    acknowledgement has are taken for them.
    """
    if not recording.counted_losses:
        return recording.lost.take(matched(recording.lost, recording.sent) >= 0)
    newest = int(recording.acked.number[recording.acked.space == APPLICATION].max(initial=-1))
    sent = recording.sent
    never = (matched(sent, recording.acked) < 0) & (sent.number < newest) & (sent.space == APPLICATION)
    return sent.take(never & sent.carries_data)


def _lost_as_sent(recording: Recording) -> Packets:
    """Return the lost packets of a sender as they left."""
    return recording.sent.take(matched(_lost(recording), recording.sent))


def _losses(answer: TransferAnswer) -> tuple[list[int], list[str]]:
    """Return the places of the losses that are repeated among the sender's 1-RTT packets, and what is not repeated."""
    lacks: list[str] = []
    places = _places_sent(answer, lacks) if answer.recording.sends else _places_missing(answer, lacks)
    if len(places) > _MOST_LOSSES:
        lacks.append(f"The first {_MOST_LOSSES:,} of {len(places):,} losses are repeated.")
    return places[:_MOST_LOSSES], lacks


def _places_sent(answer: TransferAnswer, lacks: list[str]) -> list[int]:
    recording = answer.recording
    lost = _lost(recording)
    if recording.counted_losses:
        lacks.append(
            f"{recording.counted_losses} losses are only counted: {len(lost)} packets that were never acknowledged "
            "are taken for them."
        )
    place = matched(lost, recording.sent.take(recording.sent.space == APPLICATION))
    queued = answer.case.at_full_queue(_lost_as_sent(answer.recording).time_ns)
    late = matched(lost, recording.acked) >= 0
    of_handshake = lost.space != APPLICATION
    for chosen, said in (
        (late, "packets that were declared lost and acknowledged later arrive in the trial."),
        (
            queued & ~late & ~of_handshake,
            "losses at a queue that was half full or more are left to the trial's own queue.",
        ),
        (of_handshake & ~late, "lost packets of the handshake are not repeated."),
    ):
        if chosen.any():
            lacks.append(f"{int(chosen.sum())} {said}")
    return sorted({*place[~queued & ~late & ~of_handshake].tolist()})


def _places_missing(answer: TransferAnswer, lacks: list[str]) -> list[int]:
    """Return the numbers that a receiver never got, if data was missing when the next packet came.

    Senders skip numbers to catch optimistic acknowledgements (RFC 9000, 21.4): a skipped number leaves no hole.
    """
    received = answer.recording.received
    received = received.take((received.space == APPLICATION) & (received.number >= 0))
    if not len(received):
        return []
    order = np.argsort(received.number, kind="stable")
    numbers, times = received.number[order], received.time_ns[order]
    holes = _hole_times(answer.recording.streams)
    found: list[int] = []
    skipped = 0
    for after in np.flatnonzero(np.diff(numbers) > 1).tolist():
        missing = range(int(numbers[after]) + 1, int(numbers[after + 1]))
        if holes is None or times[after + 1] in holes:
            found += missing
        else:
            skipped += len(missing)
    if skipped:
        lacks.append(f"{skipped} packet numbers that never came left no hole in the data: they are taken for skipped.")
    if found:
        lacks.append("Packets that never came are dropped one by one, also if a queue of the path had dropped them.")
    return found


def _hole_times(parts: StreamParts) -> set[int] | None:
    """Return when data came whose stream had a hole before it, None if no data of streams is recorded."""
    if not len(parts.stream):
        return None
    found: set[int] = set()
    for stream in np.unique(parts.stream).tolist():
        own = parts.stream == stream
        offsets, ends = parts.offset_bytes[own], parts.offset_bytes[own] + parts.size_bytes[own]
        before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
        found.update(parts.time_ns[own][offsets > before].tolist())
    return found


def refit(
    rebuilt: Rebuilt,
    wanted: TransferAnswer,
    trial: TransferAnswer,
    link_packets: int,
    knobs: Mapping[str, Sequence[str]],
) -> Rebuilt:
    """Return the fit corrected by a trial of it.

    `link_packets` is how many packets the sender of the data put on the link, `knobs` has the names of the settings of
    the program at each end.
    """
    corrected = _with_path(rebuilt, wanted, trial)
    corrected = _with_packet_size(corrected, wanted, trial, knobs)
    corrected = _with_window(corrected, wanted, trial, knobs)
    corrected = _with_credit(corrected, wanted, trial, knobs)
    return replace(corrected, first_place=_first_place(trial.recording, link_packets))


def _first_place(trial: Recording, link_packets: int) -> int:
    """Return how many packets the sender put on the link before its first 1-RTT packet.

    Each packet on the link has one 1-RTT packet at most, and from the first of them on each has one: the others are of
    the handshake.
    """
    data = trial.sent if trial.sends else trial.received
    numbers = data.number[data.space == APPLICATION]
    if trial.sends or not len(numbers):
        return max(0, link_packets - len(numbers))
    first = 0 if is_quic(trial) else int(numbers.min())  # of QUIC the first may be missing
    return max(0, link_packets - (int(numbers.max()) + 1 - first))


def _with_path(rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer) -> Rebuilt:
    theirs, ours = wanted.path, trial.path
    if theirs.shortest_rtt_ns is not None and ours.shortest_rtt_ns is not None:
        now_ns = units.parse_time(rebuilt.settings[_RTT]) + theirs.shortest_rtt_ns - ours.shortest_rtt_ns
        found = "so that the shortest round trip of the trial is the trace's"
        rebuilt = rebuilt.corrected(
            Fitted("round trip", _time(max(now_ns, theirs.shortest_rtt_ns // 20)), found, (_RTT,))
        )
    wanted_bps, had_bps = queued_rate_bps(wanted), queued_rate_bps(trial)
    if not (wanted.case.bottlenecked and trial.case.bottlenecked) or wanted_bps is None or had_bps is None:
        return rebuilt
    factor = wanted_bps / had_bps
    if abs(factor - 1) > _FINE:
        rate = _rate(min(units.parse_rate(rebuilt.settings[_RATE]) * factor, LARGEST_RATE_BPS))
        rebuilt = rebuilt.corrected(
            Fitted("rate", rate, "so that packets leave its queue as fast as in the trace", (_RATE,))
        )
    return rebuilt


def _with_packet_size(
    rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer, knobs: Mapping[str, Sequence[str]]
) -> Rebuilt:
    theirs, ours = (int(each.case.data.size_bytes.max(initial=0)) for each in (wanted, trial))
    if theirs == ours or theirs <= 0:
        return rebuilt
    found = f"the largest packet of the trace has {theirs} bytes, of the trial it had {ours}"
    if _LEAST_FOR_ALL <= theirs < ours:
        size = units.print_size(theirs + _BELOW[wanted.recording.protocol])
        return rebuilt.corrected(Fitted("MTU", size, found, ("network.mtu",)))
    if theirs < ours and "max_udp_payload" in knobs[rebuilt.sender]:
        return rebuilt.corrected(Fitted("packets", theirs, found, (f"{rebuilt.sender}_knobs.max_udp_payload",)))
    return rebuilt.lacking(f"{found[0].upper()}{found[1:]}.")


def _with_window(
    rebuilt: Rebuilt, wanted: TransferAnswer, trial: TransferAnswer, knobs: Mapping[str, Sequence[str]]
) -> Rebuilt:
    theirs, ours = (each.recording.figures.cwnd_bytes.value[:1].tolist() for each in (wanted, trial))
    if not theirs or not ours or abs(theirs[0] / ours[0] - 1) <= _CLEAR:
        return rebuilt
    said = f"the first window of the trace is {units.print_bytes(theirs[0])}, of the trial {units.print_bytes(ours[0])}"
    if "initial_window" not in knobs[rebuilt.sender]:
        return rebuilt.lacking(f"{said[0].upper()}{said[1:]}, and its program has no setting for it.")
    packets = max(1, round(theirs[0] / max(1, int(wanted.case.data.size_bytes.max(initial=1200)))))
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
    theirs, ours = (each.recording.parameters.get(whose, {}) for each in (wanted, trial))
    for parameter, (knob, largest) in _CREDIT.items():
        value, had = theirs.get(parameter), ours.get(parameter)
        if not isinstance(value, int) or not isinstance(had, int) or value == had:
            continue
        said = f"the client's {parameter} is {value:,} in the trace, and {had:,} in the trial"
        if knob not in knobs["client"]:
            rebuilt = rebuilt.lacking(f"T{said[1:]}, whose program has no setting for it.")
            continue
        keys = [knob, *([largest] if largest in knobs["client"] and value > had else ())]
        rebuilt = rebuilt.corrected(Fitted(parameter, value, said, tuple(f"client_knobs.{key}" for key in keys)))
    return rebuilt


def drops(rebuilt: Rebuilt) -> str:
    """Return the losses as surgery of the sender's direction (docs/reference/study-network.md), "" for none."""
    if not rebuilt.dropped or rebuilt.first_place is None:
        return ""
    places: Integers = np.asarray(rebuilt.dropped, np.int64) + rebuilt.first_place
    ends = np.flatnonzero(np.append(np.diff(places) > 1, [True]))
    begins = np.concatenate([[0], ends[:-1] + 1])
    ranges = (f"{places[a]}-{places[b]}" if b > a else f"{places[a]}" for a, b in zip(begins, ends, strict=True))
    return f"drop {', '.join(ranges)}"
