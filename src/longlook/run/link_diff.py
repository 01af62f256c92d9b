"""The first packet, in order of arrival, that is not the same in two packet logs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from longlook.timeline import DIRECTIONS, PacketLog

BEHAVIOUR = ("direction", "arrival_ns", "size_bytes", "verdict", "departure_ns")
"""Columns about what a path does to a packet and when; ports and sequence numbers differ between any two seeds."""

_TIMES = ("arrival_ns", "due_ns", "departure_ns")


@dataclass(frozen=True)
class Packet:
    """A record for people. Times in ns after the trial's start; `number` counts in its direction from 0."""

    direction: str
    number: int
    arrival_ns: int
    departure_ns: int | None
    size_bytes: int
    fate: str
    client_port: int
    server_port: int
    transport_sequence: int


@dataclass(frozen=True)
class PacketPair:
    """Packets of both logs at one place; None behind the end of the shorter log. `columns` are the
    columns that differ.
    """

    index: int
    left: Packet | None
    right: Packet | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FirstDifference:
    """The first difference, at `index` in order of arrival from 0, with the packets around it."""

    index: int
    around: tuple[PacketPair, ...]

    @property
    def pair(self) -> PacketPair:
        """Return the packets that differ."""
        return next(pair for pair in self.around if pair.index == self.index)

    @property
    def time_ns(self) -> int:
        """Return when the earlier of the two arrived, in ns after the trial's start."""
        return min(side.arrival_ns for side in (self.pair.left, self.pair.right) if side is not None)


class Arrivals:
    """The packets of a log in order of arrival, with times that count from the trial's start.

    A log's own order is that in which fates were complete, in which an effect may stand before its cause.
    """

    def __init__(self, log: PacketLog, started_unix_ns: int) -> None:
        records = log.records
        keys = (records["sequence"], records["direction"], records["arrival_ns"])  # the last one counts first
        copies = log.column("copy")
        order = np.lexsort(keys if copies is None else (copies, *keys))
        self._records: npt.NDArray[Any] = np.asarray(records[order])
        self._verdicts = log.verdicts
        shift = log.unix_minus_monotonic_ns - started_unix_ns
        self.columns: Mapping[str, npt.NDArray[Any]] = {
            name: self._column(name, shift) for name in self._records.dtype.names or ()
        }

    def _column(self, name: str, shift: int) -> npt.NDArray[Any]:
        raw = self._records[name]
        if name not in _TIMES:
            return raw
        values = raw.astype(np.int64)
        return np.where(values == 0, np.iinfo(np.int64).min, values + shift)  # 0: it never happened

    def __len__(self) -> int:
        return len(self._records)

    def packet(self, index: int) -> Packet | None:
        """Return the packet at a place; None behind the end."""
        if index >= len(self):
            return None
        row = {name: int(column[index]) for name, column in self.columns.items() if column.dtype.kind in "iu"}
        number = row["direction"]
        return Packet(
            direction=DIRECTIONS[number] if number < len(DIRECTIONS) else f"direction {number}",
            number=row["sequence"],
            arrival_ns=row["arrival_ns"],
            departure_ns=row["departure_ns"] if self._records["departure_ns"][index] else None,
            size_bytes=row["size_bytes"],
            fate=self._verdicts.get(row["verdict"], f"verdict {row['verdict']}"),
            client_port=row["client_port"],
            server_port=row["server_port"],
            transport_sequence=row["transport_sequence"],
        )


def first_difference(
    left: Arrivals, right: Arrivals, context: int, only: Sequence[str] | None = None
) -> FirstDifference | None:
    """Return the first difference in any column, or in the columns `only`; None if there is none.

    It comes with `context` packets on both sides.
    """
    index = _first_index(left, right, only or _common(left, right))
    if index is None:
        return None
    last = min(index + context + 1, max(len(left), len(right)))
    around = tuple(_pair(left, right, place) for place in range(max(0, index - context), last))
    return FirstDifference(index, around)


def _first_index(left: Arrivals, right: Arrivals, names: Sequence[str]) -> int | None:
    both = min(len(left), len(right))
    differs = np.zeros(both, np.bool_)
    for name in names:
        differs |= left.columns[name][:both] != right.columns[name][:both]
    if differs.any():
        return int(np.argmax(differs))
    return None if len(left) == len(right) else both


def _pair(left: Arrivals, right: Arrivals, index: int) -> PacketPair:
    one, other = left.packet(index), right.packet(index)
    names = _common(left, right) if one and other else []
    differing = tuple(name for name in names if left.columns[name][index] != right.columns[name][index])
    return PacketPair(index, one, other, differing)


def _common(left: Arrivals, right: Arrivals) -> list[str]:
    return [name for name in left.columns if name in right.columns]
