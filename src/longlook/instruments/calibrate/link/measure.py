"""Send the packets of a calibration through our link and through netem, and record when each leaves."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from longlook.core import CsvWriter, LonglookError, codec
from longlook.instruments.calibrate.link.link_probe import LinkBed, Sink, Source
from longlook.instruments.calibrate.link.netem import NetemBed
from longlook.instruments.calibrate.link.passages import EMULATORS, OURS, PACKETS, Passage
from longlook.lab import Timing, link_options

COLUMNS = ("case", "emulator", "sequence", "sent_ns", "received_ns", "times", "marked")
_MARKED = 3  # congestion experienced
_LINGER_NS = 50_000_000  # required by the link's configuration; a signal stops the link when it is empty


@dataclass(frozen=True)
class _Passed:
    sent_ns: list[int]
    received_ns: dict[int, int]
    times: Counter[int]
    marked: frozenset[int]


def measure_passages(passages: Sequence[Passage], folder: Path, timing: Timing) -> None:
    """Write `packets.csv`: a row per packet sent, in ns from the first of its case, when it first came, how often, and
    whether it came with a mark.

    For virtual time: it sleeps until a link must be empty. Raise LonglookError if the link's counters disagree.
    """
    Path("/proc/self/timerslack_ns").write_text("1")  # the kernel would group sleeps that end within 50 µs
    with (folder / PACKETS).open("w", newline="") as file:
        rows = CsvWriter(file)
        rows.writerow(COLUMNS)
        for seed, case in enumerate(passages):  # a seed for each: two with one stage would share its draws
            for emulator in EMULATORS if case.netem is not None else (OURS,):
                timing.align()
                passage = _through_ours(case, seed, folder) if emulator == OURS else _through_netem(case)
                first_ns = passage.sent_ns[0]
                for sequence, sent_ns in enumerate(passage.sent_ns):
                    received_ns = passage.received_ns.get(sequence)
                    came_ns = "" if received_ns is None else received_ns - first_ns
                    times = passage.times[sequence]
                    marked = int(sequence in passage.marked)
                    rows.writerow((case.name, emulator, sequence, sent_ns - first_ns, came_ns, times, marked))


def _through_ours(case: Passage, seed: int, folder: Path) -> _Passed:
    config = {
        "version": 2,
        "seed": seed,
        "linger_ns": _LINGER_NS,
        "up": [codec.encode(stage) for stage in case.stages],
        "down": [],
    }
    with LinkBed(folder, config, arguments=link_options.in_guest()) as bed:
        passage = _send(case, bed)
        (summary,) = bed.stop()
        up = summary["up"]
        seen = passage.times.total() + _unseen(case, passage)
        if (up["arrived"], up["queued"], up["delivered"]) != (case.schedule.count, 0, seen):
            raise LonglookError(f"{case.name}: the link and the probe count differently: {summary}")
    bed.log.unlink()
    return passage


def _unseen(case: Passage, passage: _Passed) -> int:
    """Return how many packets the link delivers and the receiver's kernel drops because of their checksum."""
    corrupts = any(stage.kind == "corrupt" for stage in case.stages)
    return case.schedule.count - passage.times.total() if corrupts else 0


def _through_netem(case: Passage) -> _Passed:
    if case.netem is None:
        raise ValueError(f"netem has no {case.name}")
    with NetemBed(case.netem) as bed:
        return _send(case, bed)


def _send(case: Passage, bed: LinkBed | NetemBed) -> _Passed:
    with ExitStack() as stack:
        sink = stack.enter_context(Sink(bed.server))
        source = stack.enter_context(Source(bed.client, case.ecn))
        sent_ns = source.follow(case.schedule.offsets_ns(), case.size_bytes, case.flow)
        time.sleep(case.drain_ns / 1e9)
    return _Passed(
        sent_ns,
        {arrival.sequence: arrival.received_ns for arrival in reversed(sink.arrivals)},
        Counter(arrival.sequence for arrival in sink.arrivals),
        frozenset(arrival.sequence for arrival in sink.arrivals if arrival.ecn == _MARKED),
    )
