"""Reader of the router's packet log (docs/link-formats.md)."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

MAGIC = b"LLLINK1\n"
VERSION = 1
_LENGTH = struct.Struct("<I")
_PREFIX_BYTES = len(MAGIC) + _LENGTH.size
_ALLOWED_TYPES = ("|u1", "<u2", "<u4", "<u8")


class LinkLogError(ValueError):
    """The file is no packet log, or one that cannot be read: the message says which file and why."""


@dataclass(frozen=True)
class LinkLog:
    """A packet log. Records stand in the order in which fates were complete; `sequence` orders them per direction."""

    header: Mapping[str, Any]
    records: npt.NDArray[Any]
    """Structured array, shape (packets,), one field per entry of the header's `fields`; read-only."""
    truncated_bytes: int
    """Length of a last record that was cut off, as after SIGKILL; 0 for a complete log."""

    @property
    def unix_minus_monotonic_ns(self) -> int:
        """What to add to a time of the records (CLOCK_MONOTONIC) to get nanoseconds since 1970."""
        clock = self.header["clock"]
        return int(clock["unix_ns"]) - int(clock["monotonic_ns"])

    @property
    def verdicts(self) -> Mapping[int, str]:
        """Names of the verdict codes: `delivered`, `queued`, `dropped_…`."""
        return {int(code): str(name) for name, code in self.header["verdicts"].items()}

    def direction(self, number: int) -> npt.NDArray[Any]:
        """The records of one direction (0 up, 1 down) in order of arrival, shape (packets,)."""
        chosen: npt.NDArray[Any] = self.records[self.records["direction"] == number]
        order = np.argsort(chosen["sequence"], kind="stable")
        return np.asarray(chosen[order])


def read_link_log(path: Path) -> LinkLog:
    """Map a packet log into memory. LinkLogError for a foreign, empty or damaged file; OSError if it cannot be opened.

    A last record that was cut off is left out and its length noted in `truncated_bytes`.
    """
    with path.open("rb") as file:
        header, records_offset = _read_header(path, file)
    dtype = _dtype(path, header)
    body_bytes = path.stat().st_size - records_offset
    count, truncated_bytes = divmod(body_bytes, dtype.itemsize)
    if count == 0:  # an empty range cannot be mapped
        return LinkLog(header, np.empty(0, dtype), truncated_bytes)
    records = np.memmap(path, dtype=dtype, mode="r", offset=records_offset, shape=(count,))
    return LinkLog(header, records, truncated_bytes)


def _read_header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], int]:
    prefix = file.read(_PREFIX_BYTES)
    if not prefix or prefix[: len(MAGIC)] != MAGIC[: len(prefix)]:
        raise LinkLogError(f"{path} is not a packet log of longlook-link: it does not begin with {MAGIC!r}")
    if len(prefix) < _PREFIX_BYTES:
        raise LinkLogError(f"{path} is cut off inside its header")
    (length,) = _LENGTH.unpack(prefix[len(MAGIC) :])
    rest = file.read(length)
    if len(rest) < length:
        raise LinkLogError(f"{path} is cut off inside its header: {length} bytes are announced, {len(rest)} are there")
    try:
        header = json.loads(rest)
    except ValueError as error:
        raise LinkLogError(f"{path} has a damaged header: {error}") from error
    if not isinstance(header, dict):
        raise LinkLogError(f"{path} has a damaged header: it is no JSON object")
    if header.get("version") != VERSION:
        raise LinkLogError(f"{path} has version {header.get('version')!r}; this Longlook reads {VERSION}")
    if missing := {"record_bytes", "fields", "clock", "verdicts"} - header.keys():
        raise LinkLogError(f"{path} has a header without {', '.join(sorted(missing))}")
    return header, _PREFIX_BYTES + length


def _dtype(path: Path, header: Mapping[str, Any]) -> np.dtype[Any]:
    try:
        fields = header["fields"]
        dtype = np.dtype(
            {
                "names": [field["name"] for field in fields],
                "formats": [_known_type(field["type"]) for field in fields],
                "offsets": [field["offset"] for field in fields],
                "itemsize": header["record_bytes"],
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LinkLogError(f"{path} has a damaged list of fields: {error}") from error
    if dtype.itemsize == 0:
        raise LinkLogError(f"{path} has a damaged list of fields: records without a byte")
    return dtype


def _known_type(name: object) -> str:
    if name not in _ALLOWED_TYPES:
        raise ValueError(f"unknown type {name!r}")
    return str(name)
