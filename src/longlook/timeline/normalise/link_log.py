"""A router's packet log and its link's configuration: readers, and a check (docs/reference/link-formats.md)."""

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from longlook.core import BOTTLENECKS, files

MAGICS: Mapping[int, bytes] = {1: b"LLLINK1\n", 2: b"LLLINK2\n"}
"""The first bytes of a log of each version."""

DELIVERED, QUEUED = 0, 1  # verdicts; from 2 on a packet was dropped
NO_FLOW = 2**32 - 1
TAG_FIELDS = ("tag_start", "tag_end")
"""The fields that tell datagrams apart by their last bytes, which are ciphertext."""

_LENGTH = struct.Struct("<I")
_MAGIC_BYTES = 8
_PREFIX_BYTES = _MAGIC_BYTES + _LENGTH.size
_ALLOWED_TYPES = ("|u1", "<u2", "<u4", "<u8", "|V16")
_REQUIRED = ("record_bytes", "fields", "clock", "verdicts")


class PacketLogError(ValueError):
    """The file is not a packet log, or cannot be read: the message names the file and the reason."""


@dataclass(frozen=True)
class LoggedFlow:
    """Packets of one protocol between two addresses and ports, in both directions.

    Logs of version 1 have no addresses (None) and number flows by protocol and ports.
    """

    number: int
    ip_protocol: int
    client_address: str | None
    client_port: int
    server_address: str | None
    server_port: int
    packets: int


@dataclass(frozen=True)
class PacketLog:
    """A packet log. Records are in the order in which fates were complete; `sequence` orders them per direction."""

    header: Mapping[str, Any]
    records: npt.NDArray[Any]
    """A structured array, shape (packets,), one field per entry of the header's `fields`; read-only."""
    truncated_bytes: int
    """The length of a last record that was cut off, as after SIGKILL; 0 for a complete log."""

    @property
    def unix_minus_monotonic_ns(self) -> int:
        """The offset from a time of the records (CLOCK_MONOTONIC) to nanoseconds since 1970."""
        clock = self.header["clock"]
        return int(clock["unix_ns"]) - int(clock["monotonic_ns"])

    @property
    def verdicts(self) -> Mapping[int, str]:
        """The names of the verdict codes: `delivered`, `queued`, `dropped_…`."""
        return {int(code): str(name) for name, code in self.header["verdicts"].items()}

    @property
    def lateness_ns(self) -> npt.NDArray[np.int64]:
        """Return how late each delivered packet left, in the order of the log, shape (delivered packets,)."""
        delivered = self.records[self.records["verdict"] == DELIVERED]
        late: npt.NDArray[np.int64] = (delivered["departure_ns"] - delivered["due_ns"]).astype(np.int64)
        return late

    def column(self, name: str) -> npt.NDArray[Any] | None:
        """Return one field of all records without copying, shape (packets,), or None if this log's version lacks it."""
        return self.records[name] if name in (self.records.dtype.names or ()) else None

    def traffic_digest(self) -> str:
        """Return SHA-256 of what the link saw of every packet, in the order of the log: all fields but TAG_FIELDS.

        The ciphertext of a packet changes with any byte inside, as with a knob that the handshake declares; its times
        and its size need not. The header, which repeats the link's configuration, is left out, too.
        """
        digest = hashlib.sha256()
        for name in sorted({*(self.records.dtype.names or ())} - {*TAG_FIELDS}):
            column = np.ascontiguousarray(self.records[name])
            digest.update(f"{name} {column.dtype.str} {column.nbytes}\n".encode())
            digest.update(column.tobytes())
        return digest.hexdigest()

    def direction(self, number: int) -> npt.NDArray[Any]:
        """Return the records of one direction (0 up, 1 down) in order of arrival, copies behind their originals."""
        chosen: npt.NDArray[Any] = self.records[self.records["direction"] == number]
        copies = chosen["copy"] if self.column("copy") is not None else np.zeros(len(chosen), np.uint8)
        order = np.lexsort((copies, chosen["sequence"]))
        return np.asarray(chosen[order])

    def flow_numbers(self) -> npt.NDArray[np.int64]:
        """Return the number of each record's flow, from 0; -1 if it has none."""
        numbers = self.column("flow")
        if numbers is not None:
            return np.where(numbers == NO_FLOW, -1, numbers.astype(np.int64))
        records = self.records
        key = records["ip_protocol"].astype(np.int64) << 32
        key |= (records["client_port"].astype(np.int64) << 16) | records["server_port"]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))  # in the order in which they appear
        return np.asarray(rank[inverse])

    def flows(self) -> list[LoggedFlow]:
        """Return the flows of the log in order of their numbers."""
        numbers = self.flow_numbers()
        unique, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        found = []
        for number, index, packets in zip(unique.tolist(), first.tolist(), counts.tolist(), strict=True):
            if number >= 0:
                row = self.records[index]
                client, server = (self._address(row, f"{side}_address") for side in ("client", "server"))
                ports = int(row["client_port"]), int(row["server_port"])
                found.append(LoggedFlow(number, int(row["ip_protocol"]), client, ports[0], server, ports[1], packets))
        return found

    def _address(self, row: Any, name: str) -> str | None:
        if self.column(name) is None:
            return None
        return address_text(int(row["ip_version"]), row[name].tobytes())


def address_text(ip_version: int, address: bytes) -> str | None:
    """Return an address of the log (16 bytes, IPv4 as the first 4) as text, or None if there is none."""
    if ip_version == 4:
        return str(IPv4Address(address[:4]))
    return str(IPv6Address(address)) if ip_version == 6 else None


def read_link_log(path: Path) -> PacketLog:
    """Map a packet log of any version into memory.

    Raise PacketLogError for a foreign, empty or damaged file, OSError if the file cannot be opened. A last record that
    was cut off is left out and its length noted in `truncated_bytes`.
    """
    with files.open_regular(path) as file:
        header, records_offset = _read_header(path, file)
        dtype = _dtype(path, header)
        body_bytes = os.fstat(file.fileno()).st_size - records_offset
        count, truncated_bytes = divmod(body_bytes, dtype.itemsize)
        if count == 0:  # an empty range cannot be mapped
            return PacketLog(header, np.empty(0, dtype), truncated_bytes)
        records = np.memmap(file, dtype=dtype, mode="r", offset=records_offset, shape=(count,))
    return PacketLog(header, records, truncated_bytes)


def _read_header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], int]:
    prefix = file.read(_PREFIX_BYTES)
    magic = prefix[:_MAGIC_BYTES]
    versions = [version for version, known in MAGICS.items() if magic and known.startswith(magic)]
    if not versions:
        known = " or ".join(map(repr, MAGICS.values()))
        raise PacketLogError(f"{path} is not a packet log of longlook-link: it does not begin with {known}")
    if len(prefix) < _PREFIX_BYTES:
        raise PacketLogError(f"{path} is cut off inside its header")
    (length,) = _LENGTH.unpack(prefix[_MAGIC_BYTES:])
    rest = file.read(length)
    if len(rest) < length:
        raise PacketLogError(
            f"{path} is cut off inside its header: {length} bytes are announced, {len(rest)} are there"
        )
    try:
        header = json.loads(rest)
    except (ValueError, RecursionError) as error:
        raise PacketLogError(f"{path} has a damaged header: {error}") from error
    _check_header(path, header, versions[0])
    return header, _PREFIX_BYTES + length


def _check_header(path: Path, header: Any, version: int) -> None:
    if not isinstance(header, dict):
        raise PacketLogError(f"{path} has a damaged header: it is no JSON object")
    if header.get("version") != version:
        raise PacketLogError(f"{path} begins as version {version}; its header says {header.get('version')!r}")
    if missing := set(_REQUIRED) - header.keys():
        raise PacketLogError(f"{path} has a header without {', '.join(sorted(missing))}")
    try:
        codes = {int(code) for code in header["verdicts"].values()}
        moments = [int(header["clock"][name]) for name in ("unix_ns", "monotonic_ns")]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise PacketLogError(f"{path} has a damaged clock or damaged verdicts in its header: {error}") from error
    if not codes <= set(range(256)) or not all(0 <= moment < 2**63 for moment in moments):
        raise PacketLogError(f"{path} has an impossible clock or impossible verdicts in its header")


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
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise PacketLogError(f"{path} has a damaged list of fields: {error}") from error
    if dtype.itemsize == 0:
        raise PacketLogError(f"{path} has a damaged list of fields: records without a byte")
    return dtype


def _known_type(name: object) -> str:
    if name not in _ALLOWED_TYPES:
        raise ValueError(f"unknown type {name!r}")
    return str(name)


LINK_FILE = "link.json"
Stages = dict[str, list[dict[str, Any]]]
"""Direction (`up`, `down`) → its stages in order, each with `kind` and `parameters`."""


def read_stages(path: Path) -> Stages:
    """Return the stages of each direction from the router's configuration; none if that cannot be read."""
    try:
        link = files.read_json(path)
        return {direction: list(link[direction]) for direction in ("up", "down")}
    except (OSError, ValueError, LookupError, TypeError):
        return {"up": [], "down": []}


def rtt_ns(link: Stages) -> int | None:
    """Return the round trip time without queues, or None if a delay varies."""
    delays = [stage["parameters"].get("delay_ns") for stage in (*link["up"], *link["down"]) if stage["kind"] == "delay"]
    return sum(delays) if all(isinstance(delay, int) for delay in delays) else None


def capacity(link: Stages, phase_ns: int) -> dict[str, Any] | None:
    """Return the rate towards the client: `steps` of (ns of link time, bit/s), and `repeat_ns` or null.

    Link time is `phase_ns`, which is absent if 0, at the first packet. None unless a single bottleneck has a rate that
    is known beforehand.
    """
    rates = [stage["parameters"]["rate_bps"] for stage in link["down"] if stage["kind"] in BOTTLENECKS]
    if len(rates) != 1:
        return None
    (rate,) = rates
    if isinstance(rate, int | float):
        return {"steps": [[0, rate]], "repeat_ns": None}
    if isinstance(rate, dict) and "steps" in rate:
        phase = {"phase_ns": phase_ns} if phase_ns else {}
        return {"steps": rate["steps"], "repeat_ns": rate.get("repeat_ns"), **phase}
    return None


DIRECTIONS = ("up", "down")


def conservation(log: PacketLog, summary: Mapping[str, Any] | None = None) -> list[str]:
    """Return what does not add up, one sentence each; empty if everything does, exactly.

    In each direction arrived + copied = delivered + dropped + queued, packets are numbered without a gap, times do not
    run backwards, and the router's `summary` (its line of that name) equals the log. Without a summary the log is only
    compared with itself. A log that was cut off does not add up.
    """
    found = [f"the last record is cut off after {log.truncated_bytes} bytes"] if log.truncated_bytes else []
    foreign = int(np.count_nonzero(log.records["direction"] >= len(DIRECTIONS)))
    found += [f"{foreign} records have no direction"] if foreign else []
    for number, name in enumerate(DIRECTIONS):
        records = log.records[log.records["direction"] == number]
        wrong = [*_records(log, records), *(_counters(log, records, summary[name]) if summary else ())]
        found += [f"{name}: {text}" for text in wrong]
    return found


def _records(log: PacketLog, records: npt.NDArray[Any]) -> Iterator[str]:
    """Return contradictions among the records of one direction."""
    numbers = np.unique(records["sequence"])
    if len(numbers) and (numbers[0] != 0 or numbers[-1] != len(numbers) - 1):
        yield f"{len(numbers)} packets are numbered from {numbers[0]} to {numbers[-1]}"
    known = np.isin(records["verdict"], list(log.verdicts))
    if not known.all():
        yield f"{np.count_nonzero(~known)} records have a verdict that the header does not name"
    left = records["verdict"] == DELIVERED
    times = [("departure before the due time", left & (records["departure_ns"] < records["due_ns"]))]
    times.append(("due before the arrival", left & (records["due_ns"] < records["arrival_ns"])))
    times.append(("a departure without being delivered", ~left & (records["departure_ns"] != 0)))
    if log.column("copy") is not None:
        settled = records[records["verdict"] != QUEUED]
        pairs = np.unique(np.stack([settled["sequence"], settled["copy"].astype(np.uint64)]), axis=1)
        if pairs.shape[1] != len(settled):
            yield f"{len(settled) - pairs.shape[1]} fates came twice"
        times.append(("a flow without an address", (records["ip_version"] == 0) & (records["flow"] != NO_FLOW)))
    yield from (f"{np.count_nonzero(wrong)} records have {text}" for text, wrong in times if wrong.any())


def _counters(log: PacketLog, records: npt.NDArray[Any], counters: Mapping[str, int]) -> Iterator[str]:
    """Return contradictions between one direction's counters and its records."""
    arrived = len(np.unique(records["sequence"]))
    is_first = np.zeros(len(records), np.bool_)
    is_first[np.unique(records["sequence"], return_index=True)[1]] = True
    left = records["verdict"] == DELIVERED
    sizes = records["size_bytes"].astype(np.int64)
    logged = {name: int(np.count_nonzero(records["verdict"] == code)) for code, name in log.verdicts.items()}
    logged |= {
        "arrived": arrived,
        "copied": len(records) - arrived,
        "arrived_bytes": int(sizes[is_first].sum()),
        "delivered_bytes": int(sizes[left].sum()),
    }
    for name, count in logged.items():
        if (counted := counters.get(name, 0)) != count:
            yield f"{name} is {counted} in the summary and {count} in the log"
    fates = sum(count for name, count in counters.items() if name.startswith("dropped_"))
    fates += counters["delivered"] + counters["queued"]
    if (came := counters["arrived"] + counters.get("copied", 0)) != fates:
        yield f"arrived + copied is {came}, delivered + dropped + queued is {fates}"
