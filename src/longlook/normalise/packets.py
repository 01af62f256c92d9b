"""The link's packet log → rows, all packets at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from longlook.model import Vantage
from longlook.normalise.endpoint import Connection
from longlook.normalise.linklog import LinkLog
from longlook.normalise.tables import constant_text, table_of_columns, texts
from longlook.timeline import Kind

Integers = npt.NDArray[np.int64]

DIRECTIONS = ("up", "down")
DELIVERED, QUEUED = 0, 1  # verdicts; from 2 on a packet was dropped
TCP, UDP = 6, 17
MAX_MONOTONIC_NS = 2**62


def table_of_packets(log: LinkLog, started_unix_ns: int, connections: Sequence[Connection]) -> pa.Table:
    """One row per usable record. Times count from `started_unix_ns`; flows and priming come from `connections`.

    A record with an impossible direction or time, as in a damaged file, is left out.
    """
    records = log.records[_usable(log.records)]
    count = len(records)
    to_trial_ns = log.unix_minus_monotonic_ns - started_unix_ns

    arrival_ns = records["arrival_ns"].astype(np.int64) + to_trial_ns
    due_ns = records["due_ns"].astype(np.int64) + to_trial_ns
    departure_ns = records["departure_ns"].astype(np.int64) + to_trial_ns
    verdict = records["verdict"].astype(np.int64)
    direction = records["direction"].astype(np.int64)
    queue_bytes = records["queue_bytes"].astype(np.int64)
    is_tcp = records["ip_protocol"] == TCP
    delivered = verdict == DELIVERED

    flow_codes, flow_names, flow_priming = _flows(records, arrival_ns + started_unix_ns, connections)
    wait_s, waits = _queue_wait_s(log.header, direction, queue_bytes, delivered)
    kind_codes = np.where(delivered, 0, np.where(verdict == QUEUED, 1, 2))

    columns = {
        "time_ns": pa.array(np.where(delivered, departure_ns, arrival_ns)),
        "vantage": constant_text(Vantage.LINK, count),
        "flow": texts(flow_codes, flow_names),
        "kind": texts(kind_codes, [Kind.PACKET_DELIVERED, Kind.PACKET_QUEUED, Kind.PACKET_DROPPED]),
        "priming": pa.array(flow_priming[flow_codes]),
        "name": texts(verdict, _reasons(log.verdicts, int(verdict.max(initial=0)))),
        "protocol": texts(_transport_codes(records), TRANSPORTS),
        "direction": texts(direction, DIRECTIONS),
        "size_bytes": pa.array(records["size_bytes"].astype(np.int64)),
        "payload_bytes": pa.array(records["payload_bytes"].astype(np.int64)),
        "transport_sequence": pa.array(records["transport_sequence"].astype(np.int64), mask=~is_tcp),
        "queue_bytes": pa.array(queue_bytes),
        "queue_packets": pa.array(records["queue_packets"].astype(np.int64)),
        "arrival_ns": pa.array(arrival_ns),
        "due_ns": pa.array(due_ns, mask=records["due_ns"] == 0),
        "value": pa.array(wait_s, mask=~waits),
    }
    return table_of_columns(columns, count)


def _usable(records: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    times = (records[name] < MAX_MONOTONIC_NS for name in ("arrival_ns", "due_ns", "departure_ns"))
    usable: npt.NDArray[np.bool_] = (records["direction"] < len(DIRECTIONS)) & np.logical_and.reduce(list(times))
    return usable


TRANSPORTS = ("tcp", "udp", "other")


def _transport_codes(records: npt.NDArray[Any]) -> Integers:
    protocol = records["ip_protocol"]
    return np.where(protocol == TCP, 0, np.where(protocol == UDP, 1, 2)).astype(np.int64)


def _flows(
    records: npt.NDArray[Any], unix_ns: Integers, connections: Sequence[Connection]
) -> tuple[Integers, list[str | None], npt.NDArray[np.bool_]]:
    """Flow code of each packet, and name and priming of each code.

    A packet belongs to the last connection that its client port had begun by then (one UDP socket may carry a priming
    connection and then the measured one). Packets of ports that no connection reported keep their ports as a name.
    """
    transport = _transport_codes(records)
    key = (transport << 32) | (records["client_port"].astype(np.int64) << 16) | records["server_port"].astype(np.int64)
    unique, inverse = np.unique(key, return_inverse=True)
    codes = np.zeros(len(records), np.int64)
    names: list[str | None] = []
    priming: list[bool] = []
    for index, value in enumerate(unique.tolist()):
        name, client_port, server_port = TRANSPORTS[value >> 32], (value >> 16) & 0xFFFF, value & 0xFFFF
        owners = sorted(
            (item for item in connections if item.local_port == client_port > 0 and item.flow.startswith(name)),
            key=lambda item: item.started_unix_ns,
        )
        members = inverse == index
        starts = np.array([owner.started_unix_ns for owner in owners[1:]], np.int64)
        codes[members] = len(names) + np.searchsorted(starts, unix_ns[members], side="right")
        if owners:
            names += [owner.flow for owner in owners]
            priming += [owner.priming for owner in owners]
        else:
            names.append(f"{name} *:{client_port} *:{server_port}" if client_port or server_port else None)
            priming.append(False)
    return codes, names, np.array(priming, np.bool_)


def _reasons(verdicts: Mapping[int, str], highest: int) -> list[str | None]:
    """Why a packet was dropped, by verdict; null for packets that were not."""
    return [
        None,
        None,
        *(verdicts.get(code, f"verdict {code}").removeprefix("dropped_") for code in range(2, highest + 1)),
    ]


def _queue_wait_s(
    header: Mapping[str, Any], direction: Integers, queue_bytes: Integers, delivered: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Time to send what was queued ahead of each packet, and where that is known: one rate stage in its direction."""
    rates_bps = [_rate_bps(header, name) for name in DIRECTIONS]
    rate_bps = np.array([rate or np.nan for rate in rates_bps])[direction]
    known = delivered & ~np.isnan(rate_bps)
    return queue_bytes * 8 / rate_bps, known


def _rate_bps(header: Mapping[str, Any], direction: str) -> float | None:
    stages = header.get("config", {}).get(direction, [])
    rates = [stage["parameters"]["rate_bps"] for stage in stages if stage["kind"] == "rate"]
    return float(rates[0]) if len(rates) == 1 and rates[0] > 0 else None
