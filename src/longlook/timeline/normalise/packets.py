"""The link's packet log → rows, all packets at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from longlook.core import Vantage, with_port
from longlook.timeline.competition import MARKED
from longlook.timeline.normalise.endpoint import Connection
from longlook.timeline.normalise.link_log import DELIVERED, QUEUED, TAG_FIELDS, PacketLog, address_text
from longlook.timeline.timeline import SAME_BYTES, Kind, constant_text, table_of_columns, texts

Integers = npt.NDArray[np.int64]

DIRECTIONS = ("up", "down")
TCP, UDP = 6, 17
MAX_MONOTONIC_NS = 2**62
FLIPPED = "a bit flipped"
EDITS = (
    *(MARKED, FLIPPED, "client's port changed", "sender notified by ICMP"),
    *("forgiven by surgery", "held by surgery", "ECN codepoint rewritten"),
)
"""The changes made to a packet, by bit of `edits`."""
QUIC_FORMS = {1: "short", 2: "initial", 3: "0rtt", 4: "handshake", 5: "retry", 6: "version_negotiation"}
_CE_MARKED, _CE = 1, 3


def table_of_packets(
    log: PacketLog, started_unix_ns: int, connections: Sequence[Connection], vantage: Vantage = Vantage.LINK
) -> pa.Table:
    """Return one row per usable record. Times count from `started_unix_ns`; flows and priming come from `connections`.

    A copy that the link made of a packet has a row of its own. A record with an impossible direction or time, as in a
    damaged file, is left out.
    """
    usable = _usable(log.records)
    records = log.records[usable]
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

    flow_codes, flow_names, flow_priming = _flows(
        records, log.flow_numbers()[usable], arrival_ns + started_unix_ns, connections
    )
    wait_s, waits = _queue_wait_s(log.header, records, delivered)
    kind_codes = np.where(delivered, 0, np.where(verdict == QUEUED, 1, 2))

    columns = {
        "time_ns": pa.array(np.where(delivered, departure_ns, arrival_ns)),
        "vantage": constant_text(vantage, count),
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
        "sequence": pa.array(records["sequence"].astype(np.int64)),
        **(_since_version_2(records, is_tcp) if log.column("edits") is not None else {}),
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


def _since_version_2(records: npt.NDArray[Any], is_tcp: npt.NDArray[np.bool_]) -> dict[str, pa.Array]:
    """Return the columns that older logs lack."""
    edits = records["edits"].astype(np.int64)
    forms = records["quic_form"].astype(np.int64)
    return {
        "detail": _details(edits, records["copy"].astype(np.int64), _sent_before(records)),
        "acknowledgement": pa.array(records["acknowledgement"].astype(np.int64), mask=~is_tcp),
        "ecn": pa.array(_codepoints(records, edits), mask=records["ip_version"] == 0),
        "quic": texts(forms, [QUIC_FORMS.get(form) for form in range(256)]),
        "connection_id": _connection_ids(records),
    }


def _codepoints(records: npt.NDArray[Any], edits: Integers) -> Integers:
    """Return the ECN codepoint with which each packet left, or with which it arrived if it did not.

    Logs that lack it say which packets a queue marked, and were made by links that write no other codepoint.
    """
    if "departure_ecn" in (records.dtype.names or ()):
        left = records["departure_ecn"].astype(np.int64)
    else:
        left = np.where(edits & _CE_MARKED != 0, _CE, records["ecn"]).astype(np.int64)
    return np.where(records["verdict"] == DELIVERED, left, records["ecn"]).astype(np.int64)


def _details(edits: Integers, copies: Integers, before: Integers) -> pa.DictionaryArray:
    """Return the changes made to each packet, the number of the copy, and the packet that had the same bytes; null for
    an unchanged original. `before` are numbers of packets, -1 for none.
    """
    bits, copy_bits = len(EDITS), 8
    made = (copies << bits) | (edits & (2**bits - 1))
    unique, inverse = np.unique(((before + 1) << (bits + copy_bits)) | made, return_inverse=True)
    names = []
    for value in unique.tolist():
        words = [text for bit, text in enumerate(EDITS) if value >> bit & 1]
        copy, same = value >> bits & (2**copy_bits - 1), (value >> bits + copy_bits) - 1
        same_bytes = [f"{SAME_BYTES}{same}"] if same >= 0 else []
        names.append("; ".join([*words, *([f"copy {copy}"] if copy else []), *same_bytes]) or None)
    return texts(inverse, names)


def _sent_before(records: npt.NDArray[Any]) -> Integers:
    """Return the number of the first packet of a flow and direction that arrived with the bytes of each QUIC datagram;
    -1 for none. Copies that the link made count as their originals. Older logs do not say it.
    """
    found = np.full(len(records), -1, np.int64)
    if not {*TAG_FIELDS} <= {*(records.dtype.names or ())}:
        return found
    tagged = np.flatnonzero(np.any([records[name] != 0 for name in TAG_FIELDS], axis=0))
    names = ("direction", "flow", "payload_bytes", *TAG_FIELDS)
    keys = np.stack([records[name][tagged].astype(np.int64) for name in names])
    number = records["sequence"][tagged].astype(np.int64)
    order = np.lexsort((number, *keys))
    alike = (keys[:, order][:, 1:] == keys[:, order][:, :-1]).all(axis=0)
    begins = np.concatenate([[True], ~alike])[: len(order)]
    first = number[order][np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    again = first < number[order]
    found[tagged[order[again]]] = first[again]
    return found


def _connection_ids(records: npt.NDArray[Any]) -> pa.DictionaryArray:
    """Return the first 8 bytes of each id in hexadecimal; null if there is none or its length is unknown."""
    lengths = np.minimum(records["connection_id_bytes"], 8)
    key = np.empty(len(records), [("id", "<u8"), ("bytes", "|u1")])
    key["id"], key["bytes"] = records["connection_id"], lengths
    unique, inverse = np.unique(key, return_inverse=True)
    names = [int(row["id"]).to_bytes(8, "little")[: int(row["bytes"])].hex() or None for row in unique]
    return texts(inverse, names)


def _flows(
    records: npt.NDArray[Any], numbers: Integers, unix_ns: Integers, connections: Sequence[Connection]
) -> tuple[Integers, list[str | None], npt.NDArray[np.bool_]]:
    """Return the flow code of each packet, and name and priming of each code.

    A packet belongs to the last connection that its client port had begun by then (one UDP socket may carry a priming
    connection and then the measured one). Packets of ports that no connection reported are named by the log.
    """
    unique, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    began = np.zeros(len(unique), np.int64)  # the first code of each flow
    names: list[str | None] = []
    priming: list[bool] = []
    shared: list[tuple[int, Integers]] = []
    for index, (number, row) in enumerate(zip(unique.tolist(), records[first], strict=True)):
        began[index] = len(names)
        owners = _owners(row, connections) if number >= 0 else []
        if owners:
            names += [owner.flow for owner in owners]
            priming += [owner.priming for owner in owners]
        else:
            names.append(_flow_name(row) if number >= 0 else None)
            priming.append(False)
        if len(owners) > 1:
            shared.append((index, np.array([owner.started_unix_ns for owner in owners[1:]], np.int64)))
    codes = began[inverse]
    for index, starts in shared:
        members = inverse == index
        codes[members] += np.searchsorted(starts, unix_ns[members], side="right")
    return codes, names, np.array(priming, np.bool_)


def _owners(row: Any, connections: Sequence[Connection]) -> list[Connection]:
    """Return the connections of a packet's client port in the order in which they began."""
    name, port = _transport(row), int(row["client_port"])
    owners = [item for item in connections if item.local_port == port > 0 and item.flow.startswith(name)]
    if any(item.server_address is not None for item in owners):
        server = address_text(int(row["ip_version"]), row["server_address"].tobytes())
        owners = [item for item in owners if item.server_address == server]
    return sorted(owners, key=lambda item: item.started_unix_ns)


def _transport(row: Any) -> str:
    return {TCP: "tcp", UDP: "udp"}.get(int(row["ip_protocol"]), "other")


def _flow_name(row: Any) -> str | None:
    if not (row["client_port"] or row["server_port"]):
        return None
    return " ".join([_transport(row), *(_end(row, side) for side in ("client", "server"))])


def _end(row: Any, side: str) -> str:
    """Return address and port, with `*` for the address in logs that lack it."""
    if "ip_version" not in row.dtype.names:
        return f"*:{row[f'{side}_port']}"
    address = address_text(int(row["ip_version"]), row[f"{side}_address"].tobytes()) or "*"
    return with_port(address, int(row[f"{side}_port"]))


def _reasons(verdicts: Mapping[int, str], highest: int) -> list[str | None]:
    """Return the reason why a packet was dropped, by verdict; null for other packets."""
    return [
        None,
        None,
        *(verdicts.get(code, f"verdict {code}").removeprefix("dropped_") for code in range(2, highest + 1)),
    ]


def _queue_wait_s(
    header: Mapping[str, Any], records: npt.NDArray[Any], delivered: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return how long each packet waited in queues until its transmission began, and for which packets that is known.

    Logs of version 1 lack it; there it is the time to send what was queued, in a direction with one rate stage.
    """
    direction = records["direction"].astype(np.int64)
    bottlenecks = [_bottlenecks(header, name) for name in DIRECTIONS]
    if "queued_ns" in (records.dtype.names or ()):
        has_queue = np.array([bool(found) for found in bottlenecks])[direction]
        return records["queued_ns"].astype(np.float64) / 1e9, delivered & has_queue
    rates_bps = [float(found[0]["parameters"]["rate_bps"]) if len(found) == 1 else np.nan for found in bottlenecks]
    rate_bps = np.array(rates_bps)[direction]
    return records["queue_bytes"].astype(np.int64) * 8 / rate_bps, delivered & ~np.isnan(rate_bps)


def _bottlenecks(header: Mapping[str, Any], direction: str) -> list[Mapping[str, Any]]:
    """Return the stages of a direction that have a rate and a queue."""
    stages = header.get("config", {}).get(direction, [])
    return [stage for stage in stages if "rate_bps" in stage.get("parameters", {}) and stage["kind"] != "police"]
