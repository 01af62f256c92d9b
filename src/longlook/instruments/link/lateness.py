"""Lateness of packets, counted from a packet log that arrives in pieces and need not be kept. Pure.

numpy is loaded with the first packet: it starts threads, and a process with threads cannot enter a user namespace.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MAGIC = b"LLLINK"  # one digit and a line feed follow
_PREFIX = struct.Struct("<8sI")
_BINS_PER_DOUBLING = 32  # an error of at most 2.2 %
_BINS = 64 * _BINS_PER_DOUBLING


@dataclass(frozen=True)
class Lateness:
    """The lateness of all packets that left: nearest-rank percentiles, exact to 2.2 %, and the maximum, exact."""

    packets: int
    p50_ns: float
    p99_ns: float
    max_ns: int


class LatenessCounter:
    """Count the lateness of every delivered packet. Memory does not grow with the log."""

    def __init__(self) -> None:
        self._rest = b""
        self._dtype: np.dtype[Any] | None = None
        self._foreign = False
        self._bins: npt.NDArray[np.int64] | None = None
        self._latest_ns = 0

    def add(self, data: bytes) -> None:
        """Count the next piece of the log; data that is not a packet log counts nothing."""
        if self._foreign:
            return
        data = self._rest + data
        if self._dtype is None:
            data = self._read_header(data)
        if self._dtype is not None:
            count = len(data) // self._dtype.itemsize
            self._count(_numpy().frombuffer(data, self._dtype, count))
            data = data[count * self._dtype.itemsize :]
        self._rest = data

    def result(self) -> Lateness | None:
        """Return the lateness so far, or None before any packet left."""
        if self._bins is None:
            return None
        np = _numpy()
        packets = int(self._bins.sum())
        ranks = np.cumsum(self._bins)
        p50_ns, p99_ns = (self._value(int(np.searchsorted(ranks, np.ceil(share * packets)))) for share in (0.5, 0.99))
        return Lateness(packets, p50_ns, p99_ns, self._latest_ns)

    def _read_header(self, data: bytes) -> bytes:
        """Return the data behind the header, once all of it is there."""
        if len(data) < _PREFIX.size:
            return data
        magic, length = _PREFIX.unpack_from(data)
        end = _PREFIX.size + length
        if not magic.startswith(_MAGIC):
            self._foreign = True
            return b""
        if len(data) < end:
            return data
        self._dtype = _dtype(json.loads(data[_PREFIX.size : end]))
        return data[end:]

    def _count(self, records: "npt.NDArray[Any]") -> None:
        np = _numpy()
        left = records[records["departure_ns"] > 0]
        if not len(left):
            return
        late_ns = np.maximum(left["departure_ns"].astype(np.int64) - left["due_ns"].astype(np.int64), 0)
        bins = np.ceil(np.log2(late_ns + 1) * _BINS_PER_DOUBLING).astype(np.int64)
        counted = np.bincount(np.minimum(bins, _BINS), minlength=_BINS + 1)
        self._bins = counted if self._bins is None else self._bins + counted
        self._latest_ns = max(self._latest_ns, int(late_ns.max()))

    def _value(self, number: int) -> float:
        return min(float(2 ** (number / _BINS_PER_DOUBLING) - 1), float(self._latest_ns))


@cache
def _numpy() -> Any:
    import numpy as np

    return np


def _dtype(header: Mapping[str, Any]) -> "np.dtype[Any]":
    needed = [field for field in header["fields"] if field["name"] in ("due_ns", "departure_ns")]
    dtype: np.dtype[Any] = _numpy().dtype(
        {
            "names": [field["name"] for field in needed],
            "formats": [field["type"] for field in needed],
            "offsets": [field["offset"] for field in needed],
            "itemsize": header["record_bytes"],
        }
    )
    return dtype
