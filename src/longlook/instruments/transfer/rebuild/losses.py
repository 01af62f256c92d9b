"""The losses of a recording, and their places among the 1-RTT packets of the end that sends the data. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longlook.explain import Booleans, Integers
from longlook.instruments.transfer.answer import TransferAnswer
from longlook.instruments.transfer.recording import APPLICATION, Packets, Recording, StreamParts, matched

_MOST_LOSSES = 2_000


@dataclass(frozen=True)
class Losses:
    """The losses that a trial repeats: their places, the packets as they left, and what is not repeated.

    `lost` is empty in a receiver's recording, which never saw them.
    """

    places: tuple[int, ...]
    lost: Packets
    at_full_queue: bool  # some of them met a queue that was half full or more
    lacks: Sequence[str]


def losses_of(answer: TransferAnswer) -> Losses:
    """Return the losses of a recording as a trial can repeat them."""
    if answer.recording.sends:
        found = _of_sender(answer)
    else:
        places, skipped = missing_places(answer.recording)
        lacks = [f"Packet numbers that never came and left no hole in the data: {skipped}. They are taken for skipped."]
        found = Losses(tuple(places), Packets.none(), at_full_queue=False, lacks=lacks if skipped else [])
    if len(found.places) <= _MOST_LOSSES:
        return found
    said = f"The first {_MOST_LOSSES:,} of {len(found.places):,} losses are repeated."
    return Losses(found.places[:_MOST_LOSSES], found.lost, found.at_full_queue, [*found.lacks, said])


def _of_sender(answer: TransferAnswer) -> Losses:
    recording = answer.recording
    lost = _as_sent(recording)
    lacks: list[str] = []
    if recording.counted_losses:
        lacks.append(
            f"The trace only counts {recording.counted_losses} losses: {len(lost)} packets that were never "
            "acknowledged are taken for them."
        )
    place = matched(lost, recording.sent.take(recording.sent.space == APPLICATION))
    late = matched(lost, recording.acked) >= 0
    of_handshake = ~late & (lost.space != APPLICATION)
    queued = ~late & ~of_handshake & answer.case.at_full_queue(lost.time_ns)
    for chosen, said in (
        (late, "Declared lost and acknowledged later, so they arrive in the trial"),
        (queued, "Lost at a queue that was half full or more, and left to the trial's own queue"),
        (of_handshake, "Lost in the handshake, and not repeated"),
    ):
        if chosen.any():
            lacks.append(f"{said}: {int(chosen.sum())}.")
    places = sorted({*place[~queued & ~late & ~of_handshake].tolist()})
    return Losses(tuple(places), lost, bool(queued.any()), lacks)


def _as_sent(recording: Recording) -> Packets:
    """Return the packets of a sender that it declared lost, as they left.

    A sender that only counts its losses does not name them: its packets with data before the newest acknowledged one
    that no acknowledgement has are taken for them.
    """
    sent = recording.sent
    if not recording.counted_losses:
        place = matched(recording.lost, sent)
        return sent.take(place[place >= 0])
    newest = int(recording.acked.number[recording.acked.space == APPLICATION].max(initial=-1))
    never = (matched(sent, recording.acked) < 0) & (sent.number < newest) & (sent.space == APPLICATION)
    return sent.take(never & sent.carries_data)


def missing_places(recording: Recording) -> tuple[list[int], int]:
    """Return the places of the packets that never reached a receiver, and how many numbers its sender skipped.

    Senders skip numbers to catch optimistic acknowledgements (RFC 9000, 21.4): a skipped number leaves no hole in any
    stream. A place is counted without the skipped numbers before it.
    """
    received = recording.received
    received = received.take((received.space == APPLICATION) & (received.number >= 0))
    if not len(received):
        return [], 0
    order = np.argsort(received.number, kind="stable")
    numbers, times_ns = received.number[order], received.time_ns[order]
    first = 0 if recording.is_quic else int(numbers[0])  # of QUIC the first packets may be missing
    holes = _holes(recording.streams)
    found: list[int] = []
    skipped = 0
    for after in np.flatnonzero(np.diff(numbers) > 1).tolist():
        missing = range(int(numbers[after]) + 1, int(numbers[after + 1]))
        if holes is None or _is_open(holes, int(times_ns[after]), int(times_ns[after + 1])):
            found += [number - first - skipped for number in missing]
        else:
            skipped += len(missing)
    return found, skipped


def _holes(parts: StreamParts) -> tuple[Integers, Integers] | None:
    """Return begin and end of each time in which a stream had a hole: from the part before it to the part behind it.

    None if no data of streams is recorded. Times are ns; the parts behind a hole come in order.
    """
    if not len(parts.stream):
        return None
    begins, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for stream in np.unique(parts.stream).tolist():
        own = parts.stream == stream
        times_ns, offsets = parts.time_ns[own], parts.offset_bytes[own]
        before = np.concatenate([[0], np.maximum.accumulate(offsets + parts.size_bytes[own])[:-1]])
        behind = np.flatnonzero(offsets > before)
        ends.append(times_ns[behind])
        begins.append(np.where(behind > 0, times_ns[np.maximum(behind - 1, 0)], 0))
    return np.concatenate(begins), np.concatenate(ends)


def _is_open(holes: tuple[Integers, Integers], begin_ns: int, end_ns: int) -> bool:
    """Return whether a hole begins before a gap in the numbers ends, and is open until then or longer."""
    begins, ends = holes
    overlap: Booleans = (begins < max(end_ns, begin_ns + 1)) & (ends >= end_ns)
    return bool(overlap.any())
