"""Measure the link of this host, in namespaces of its own: `python -m longlook.instruments.calibrate.link.host FOLDER`.

It writes `packets.csv` (the laws' cases, from outside and from the router's log), `depth.csv` (queue depths against
theory), and `times.npz` (delays and spacing) in FOLDER. When standard input is closed, everything is killed.
"""

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longlook.core import CsvWriter, LonglookError, codec
from longlook.instruments.calibrate.link.catalogue import LIVE_CASES
from longlook.instruments.calibrate.link.laws import Case
from longlook.instruments.calibrate.link.link_probe import LinkBed
from longlook.instruments.calibrate.link.measure import COLUMNS
from longlook.instruments.calibrate.link.netem import NetemBed
from longlook.instruments.calibrate.link.passages import NETEM, OURS, PACKETS
from longlook.instruments.calibrate.link.probe import (
    FLOOD_PRIORITY,
    Arrivals,
    ProbePacket,
    Receiver,
    send_by_schedule,
    send_regularly,
)
from longlook.lab import PACKET, TUN, NetlinkError, link_options, mount_own, run_isolated
from longlook.timeline import read_link_log

LOG = "log"
TIMES, DEPTH = "times.npz", "depth.csv"
DELAY_NS, PACKETS_PER_S, SMALL_BYTES, FULL_BYTES = 20_000_000, 1_000, 200, 1_500
RATES_MBIT = (10, 100, 500, 1000)
_DELAYED_PACKETS, _WARM_UP_PACKETS = 4_000, 50
_SATURATED_S, _FASTER = 1.2, 1.3
_CORRUPTED = 2  # a bit of the log's `edits`


def main() -> int:
    """Run the measurement and return the exit code."""
    folder = Path(sys.argv[1]).absolute()
    try:
        return run_isolated(lambda: _measure(folder), sys.stdin.fileno(), lambda _pid: None)
    except LonglookError as error:
        sys.stderr.write(f"{error.message}\n{error.hint or ''}")
        return error.exit_code


def _measure(folder: Path) -> int:
    mount_own()
    os.chdir(folder)
    times: dict[str, NDArray[np.int64]] = {}
    for path in (PACKET, TUN):
        times[f"delay {path}"] = _delays(path)
    for mbit in RATES_MBIT:
        times[f"rate {mbit}"] = _saturated(mbit)
    np.savez_compressed(folder / TIMES, allow_pickle=False, **times)
    with (folder / PACKETS).open("w", newline="") as packets, (folder / DEPTH).open("w", newline="") as depths:
        rows, depth = CsvWriter(packets), CsvWriter(depths)
        rows.writerow(COLUMNS)
        depth.writerow(("case", "packets", "differing", "largest_bytes"))
        has_netem = _has_netem()
        for seed, case in enumerate(LIVE_CASES):
            _case(case, seed, rows, depth)
            if has_netem and case.netem is not None:
                with NetemBed(case.netem) as bed:
                    _from_outside(case, NETEM, *_send(case, bed), rows)
    return 0


@contextmanager
def _bed(stages: list[dict[str, Any]], path: str = PACKET, seed: int = 1) -> Iterator[tuple[LinkBed, Path]]:
    config = {"version": 2, "seed": seed, "linger_ns": 50_000_000, "up": stages, "down": []}
    with tempfile.TemporaryDirectory() as place, LinkBed(Path(place), config, path, link_options.on_host()) as bed:
        yield bed, Path(place)


def _delays(path: str) -> NDArray[np.int64]:
    """Return the time from send stamp to receive stamp, less the link's delay, of a packet each millisecond."""
    delay = {"kind": "delay", "parameters": {"delay_ns": DELAY_NS}}
    with _bed([delay], path) as (bed, place), Receiver(bed.server.namespace, place) as receiver:
        send_regularly(bed.client, _DELAYED_PACKETS, PACKETS_PER_S, SMALL_BYTES)
        bed.stop(signal.SIGUSR1)
    warm = receiver.arrivals[_WARM_UP_PACKETS:]
    return _signed(warm["received_ns"]) - _signed(warm["sent_ns"]) - DELAY_NS


def _saturated(mbit: int) -> NDArray[np.int64]:
    """Return send and receive stamps of packets through a bottleneck that always has more to send."""
    packets_per_s = mbit * 1e6 / 8 / FULL_BYTES
    count = int(packets_per_s * _SATURATED_S)
    rate = {"rate_bps": mbit * 1_000_000, "queue_bytes": count * FULL_BYTES}
    stage = {"kind": "rate", "parameters": rate}
    with _bed([stage]) as (bed, place), Receiver(bed.server.namespace, place) as receiver:
        group = max(1, mbit // 100)  # a sender that wakes for each packet could not keep up with a fast link
        send_regularly(bed.client, count, packets_per_s * _FASTER, FULL_BYTES, group, priority=FLOOD_PRIORITY)
        bed.stop(signal.SIGUSR1)
    return np.array([_signed(receiver.arrivals[name]) for name in ("sent_ns", "received_ns")])


def _case(case: Case, seed: int, rows: Any, depth: Any) -> None:
    with _bed([codec.encode(stage) for stage in case.stages], seed=seed) as (bed, place):
        sent_ns, arrivals = _send(case, bed, place)
        bed.stop()
        _from_outside(case, OURS, sent_ns, arrivals, rows)
        _from_log(case, bed.log, rows, depth)


def _send(case: Case, bed: LinkBed | NetemBed, place: Path | None = None) -> tuple[NDArray[np.int64], Arrivals]:
    packets = [
        ProbePacket(offset_ns, case.size_bytes, case.flow(sequence))
        for sequence, offset_ns in enumerate(case.schedule.offsets_ns())
    ]
    with tempfile.TemporaryDirectory() as own:
        folder = place or Path(own)
        with Receiver(bed.server.namespace, folder) as receiver:
            sent_ns = send_by_schedule(bed.client, packets, folder)
            time.sleep(case.drain_ns / 1e9)
    return _signed(sent_ns), receiver.arrivals


def _from_outside(case: Case, emulator: str, sent_ns: NDArray[np.int64], arrivals: Arrivals, rows: Any) -> None:
    times = Counter(arrivals["sequence"].tolist())
    reverse = arrivals[::-1]  # of a packet that came twice, the first arrival stays
    came = dict(zip(reverse["sequence"].tolist(), reverse["received_ns"].tolist(), strict=True))
    _write(case.name, emulator, sent_ns.tolist(), came, times, rows)


def _from_log(case: Case, log: Path, rows: Any, depth: Any) -> None:
    """Write the router's decisions: due times, to the nanosecond, of packets in the order of arrival."""
    found = read_link_log(log)
    records = found.direction(0)
    records = records[np.lexsort((records["copy"], records["sequence"]))]
    delivered = [code for code, name in found.verdicts.items() if name == "delivered"]
    passed = np.isin(records["verdict"], delivered) & (records["edits"] & _CORRUPTED == 0)
    first = records[np.unique(records["sequence"], return_index=True)[1]]
    times = Counter(records["sequence"][passed].tolist())
    reverse = records[passed][::-1]
    due = dict(zip(reverse["sequence"].tolist(), reverse["due_ns"].tolist(), strict=True))
    _write(case.name, LOG, first["arrival_ns"].tolist(), due, times, rows)
    differing = case.law.other_depths(first, passed)
    if differing is not None:
        largest = int((first["queue_bytes"].astype(np.int64) + np.where(passed, first["size_bytes"], 0)).max())
        depth.writerow((case.name, len(first), differing, largest))


def _write(
    name: str, emulator: str, sent_ns: list[int], came_ns: Mapping[int, int], times: Mapping[int, int], rows: Any
) -> None:
    first_ns = sent_ns[0]
    for sequence, at_ns in enumerate(sent_ns):
        came = came_ns.get(sequence)
        came_text = "" if came is None else came - first_ns
        rows.writerow((name, emulator, sequence, at_ns - first_ns, came_text, times.get(sequence, 0)))


def _has_netem() -> bool:
    netem = next(case.netem for case in LIVE_CASES if case.netem is not None)
    try:
        with NetemBed(netem):
            return True
    except NetlinkError:
        return False


def _signed(column: Any) -> NDArray[np.int64]:
    return np.asarray(column, dtype=np.int64)


if __name__ == "__main__":
    sys.exit(main())
