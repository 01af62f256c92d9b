"""Series of all arms as one compact text for the page: integers, their differences, packed and compressed.

Arrays are LEB128 numbers one after another: times in µs as differences from the one before (the first from 0), values
as zigzag differences. The page reads them in the order of the header. zlib gives the same bytes for the same data and
library.
"""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from longlook.explain import Bands, Inside, Integers, Marks, Series, share_out, thin_bands, thin_marks, thin_series

VALUES_PER_PAGE = 2_400_000
"""The number of values of all series of all arms together; it keeps the page below 10 MB."""

MARKS_PER_PAGE = 200_000
BANDS_PER_PAGE = 200_000

TIME_SERIES = frozenset({"rtt", "srtt", "min_rtt", "buffer"})
"""The series whose values are ns, written as µs; all others are bytes, or bit/s."""


@dataclass(frozen=True)
class Packed:
    """`arms` is the header, by arm; `blob` the numbers as base64; `cut` names the series that lost detail, by arm."""

    arms: Mapping[str, Mapping[str, Any]]
    blob: str
    cut: Mapping[str, tuple[str, ...]]


def pack(arms: Mapping[str, Inside], values_per_page: int = VALUES_PER_PAGE) -> Packed:
    """Return everything that the page draws, with as much detail as fits."""
    most = share_out([len(s.time_ns) for inside in arms.values() for s in inside.series.values()], values_per_page)
    marks_each = share_out([len(m.time_ns) for inside in arms.values() for m in inside.marks.values()], MARKS_PER_PAGE)
    bands_each = share_out([len(b.name) for inside in arms.values() for b in inside.bands.values()], BANDS_PER_PAGE)
    chunks: list[bytes] = []
    headers: dict[str, dict[str, Any]] = {}
    cut: dict[str, tuple[str, ...]] = {}
    for arm, inside in arms.items():
        series = {name: thin_series(found, most) for name, found in sorted(inside.series.items())}
        marks = {name: thin_marks(found, marks_each) for name, found in sorted(inside.marks.items())}
        bands = {name: thin_bands(found, bands_each) for name, found in sorted(inside.bands.items())}
        headers[arm] = {
            "duration": inside.duration_s,
            "series": {name: _series(chunks, name, found) for name, found in series.items()},
            "marks": {name: _marks(chunks, found) for name, found in marks.items()},
            "bands": {name: _bands(chunks, found) for name, found in bands.items()},
        }
        cut[arm] = tuple(name for name, found in series.items() if found.bucket_ns)
    blob = zlib.compress(b"".join(chunks), 9)
    return Packed(headers, base64.b64encode(blob).decode("ascii"), cut)


def varint(values: npt.NDArray[np.uint64]) -> bytes:
    """Return numbers as LEB128: seven bits a byte, the lowest first, the eighth set if more follow. (N,) → bytes."""
    if len(values) == 0:
        return b""
    groups = max(1, -(-int(values.max()).bit_length() // 7))
    shifted = values[:, None] >> (np.arange(groups, dtype=np.uint64) * np.uint64(7))
    needed = np.maximum(1, (shifted > 0).sum(axis=1))
    column = np.arange(groups)
    octets = (shifted & np.uint64(0x7F)).astype(np.uint8)
    octets[column < needed[:, None] - 1] |= 0x80
    encoded: bytes = octets[column < needed[:, None]].tobytes()
    return encoded


def zigzag(values: Integers) -> npt.NDArray[np.uint64]:
    """Return signed numbers as unsigned ones that are small if those are near 0."""
    return ((values << 1) ^ (values >> 63)).astype(np.uint64)


def _deltas(values: Integers) -> Integers:
    return np.diff(values, prepend=np.int64(0))


def _times(time_ns: Integers) -> bytes:
    return varint(zigzag(_deltas(time_ns // 1000)))


def _series(chunks: list[bytes], name: str, series: Series) -> dict[str, Any]:
    values = series.value // 1000 if name in TIME_SERIES else series.value
    chunks += [_times(series.time_ns), varint(zigzag(_deltas(values)))]
    return {"n": len(values), "of": series.count, "bucket": series.bucket_ns / 1e9}


def _marks(chunks: list[bytes], marks: Marks) -> dict[str, Any]:
    chunks += [_times(marks.time_ns), varint(marks.weight.astype(np.uint64))]
    return {"n": len(marks.time_ns), "of": marks.count, "bucket": marks.bucket_ns / 1e9}


def _bands(chunks: list[bytes], bands: Bands) -> dict[str, Any]:
    kinds = sorted(set(zip(bands.name, bands.source, strict=True)))
    index = {kind: number for number, kind in enumerate(kinds)}
    which = [index[kind] for kind in zip(bands.name, bands.source, strict=True)]
    lengths = (bands.end_ns - bands.start_ns) // 1000
    chunks += [_times(bands.start_ns), varint(lengths.astype(np.uint64)), varint(np.array(which, np.uint64))]
    return {"n": len(bands.name), "kinds": [list(kind) for kind in kinds], "bucket": bands.bucket_ns / 1e9}
