"""Made-up artefacts of one trial: what its programs and the link would have written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longlook.core.model import ConnectionState, Endpoint, Link, Outcome, Run, Trial, Workload

T0 = 1_700_000_000_000_000_000
"""The trial's start in ns since 1970."""
MONOTONIC_T0 = 5_000_000_000
MS = 1_000_000

TRIAL = Trial(
    id="0123456789abcdef",
    study="made-up",
    cell={"rate": "10"},
    cell_id="cell10",
    arm="quic",
    round=3,
    seed=42,
    link=Link((), ()),
    workload=Workload("page"),
    protocol="h3",
    connection=ConnectionState.COLD,
    congestion_control=None,
    server=Endpoint("quic-go", "v0"),
    client=Endpoint("quic-go", "v0"),
    timeout_s=10.0,
)

RUN = Run(
    trial_id=TRIAL.id,
    outcome=Outcome.OK,
    reason=None,
    hint=None,
    attempt=1,
    engine="live",
    started_unix_ns=T0,
    setup_s=0.25,
    measure_s=1.5,
    teardown_s=0.1,
    programs={},
    artefacts={},
    cpu_s={"client": 0.5, "server": 0.75, "link": 0.25},
    link={},
    guard={},
)


def trial(**changes: Any) -> Trial:
    """Return TRIAL with other values in some fields."""
    return replace(TRIAL, **changes)


def run(**changes: Any) -> Run:
    """Return RUN with other values in some fields."""
    return replace(RUN, **changes)


def ms(value: float) -> int:
    """Milliseconds after the trial's start as ns since 1970."""
    return T0 + round(value * MS)


def connection(port: int, start: float, secure: float | None, **keys: Any) -> dict[str, Any]:
    return {
        "event": "connection",
        "protocol": "h3",
        "local": f"10.8.0.1:{port}",
        "remote": "10.8.0.2:443",
        "primes": False,
        "resumed": False,
        "used_0rtt": False,
        "t_start_ns": ms(start),
        "t_handshake_ns": None if secure is None else ms(secure),
        **keys,
    }


def server_connection(port: int, secure: float, **keys: Any) -> dict[str, Any]:
    line = connection(port, secure, secure, local="10.8.0.2:443", remote=f"10.8.0.1:{port}")
    return {key: value for key, value in line.items() if key not in ("t_start_ns", "primes")} | keys


def fetched(path: str, start: float, first: float, end: float, size: int = 1000, **keys: Any) -> dict[str, Any]:
    return {
        "event": "object",
        "url": f"https://www.example.test{path}",
        "path": path,
        "protocol": "h3",
        "status": 200,
        "t_start_ns": ms(start),
        "t_first_byte_ns": ms(first),
        "t_end_ns": ms(end),
        "bytes": size,
        "digest": None,
        "error": None,
        **keys,
    }


def failed(path: str, start: float | None, error: str) -> dict[str, Any]:
    line: dict[str, Any] = dict.fromkeys(fetched(path, 0, 0, 0))
    begun = None if start is None else ms(start)
    return line | {"event": "object", "path": path, "t_start_ns": begun, "error": error}


def page(start: float, first: float | None, loaded: float | None) -> dict[str, Any]:
    stamps = {"t_start_ns": start, "t_first_byte_ns": first, "t_loaded_ns": loaded}
    times = {key: None if value is None else ms(value) for key, value in stamps.items()}
    return {"event": "page", "url": "https://www.example.test/index.html", **times}


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


FIELDS = {
    "arrival_ns": "<u8",
    "due_ns": "<u8",
    "departure_ns": "<u8",
    "sequence": "<u8",
    "size_bytes": "<u4",
    "queue_bytes": "<u4",
    "queue_packets": "<u4",
    "transport_sequence": "<u4",
    "payload_bytes": "<u2",
    "client_port": "<u2",
    "server_port": "<u2",
    "direction": "|u1",
    "verdict": "|u1",
    "stage": "|u1",
    "ip_protocol": "|u1",
    "tcp_flags": "|u1",
}
RECORD = np.dtype(
    {
        "names": list(FIELDS),
        "formats": list(FIELDS.values()),
        "offsets": np.cumsum([0, *(np.dtype(kind).itemsize for kind in FIELDS.values())])[:-1].tolist(),
        "itemsize": 64,
    }
)
FIELDS_2 = {  # of version 2: name to type and offset
    "arrival_ns": ("<u8", 0),
    "due_ns": ("<u8", 8),
    "departure_ns": ("<u8", 16),
    "sequence": ("<u8", 24),
    "connection_id": ("<u8", 32),
    "size_bytes": ("<u4", 40),
    "queue_bytes": ("<u4", 44),
    "queue_packets": ("<u4", 48),
    "transport_sequence": ("<u4", 52),
    "acknowledgement": ("<u4", 56),
    "flow": ("<u4", 60),
    "payload_bytes": ("<u2", 64),
    "client_port": ("<u2", 66),
    "server_port": ("<u2", 68),
    "direction": ("|u1", 70),
    "verdict": ("|u1", 71),
    "stage": ("|u1", 72),
    "ip_protocol": ("|u1", 73),
    "tcp_flags": ("|u1", 74),
    "ecn": ("|u1", 75),
    "copy": ("|u1", 76),
    "edits": ("|u1", 77),
    "quic_form": ("|u1", 78),
    "connection_id_bytes": ("|u1", 79),
    "ip_version": ("|u1", 80),
    "tag_start": ("<u2", 82),
    "tag_end": ("<u4", 84),
    "queued_ns": ("<u8", 88),
    "client_address": ("|V16", 96),
    "server_address": ("|V16", 112),
}
RECORD_2 = np.dtype(
    {
        "names": list(FIELDS_2),
        "formats": [kind for kind, _ in FIELDS_2.values()],
        "offsets": [offset for _, offset in FIELDS_2.values()],
        "itemsize": 128,
    }
)
RATE_10MBIT = {"kind": "rate", "parameters": {"rate_bps": 10_000_000, "queue_bytes": 45_000}}


def packet(arrival: float, departure: float | None, **fields: int) -> dict[str, int]:
    """A record; times in ms after the trial's start, `departure` None where it did not leave. A QUIC packet down."""
    left = 0 if departure is None else MONOTONIC_T0 + round(departure * MS)
    return {
        "arrival_ns": MONOTONIC_T0 + round(arrival * MS),
        "due_ns": left,
        "departure_ns": left,
        "size_bytes": 1250,
        "payload_bytes": 1222,
        "client_port": 40000,
        "server_port": 443,
        "direction": 1,
        "stage": 255,
        "ip_protocol": 17,
        **fields,
    }


def packet_2(arrival: float, departure: float | None, **fields: int | bytes) -> dict[str, int | bytes]:
    """A record of version 2, as `packet`, between the addresses of the laboratory."""
    addresses: dict[str, int | bytes] = {
        "client_address": bytes([10, 8, 0, 1]),
        "server_address": bytes([10, 8, 0, 2]),
        "ip_version": 4,
    }
    return {**packet(arrival, departure), **addresses, **fields}


def records(packets: Sequence[Mapping[str, int | bytes]], dtype: np.dtype[Any] = RECORD) -> np.ndarray[Any, Any]:
    array = np.zeros(len(packets), dtype)
    for index, fields in enumerate(packets):
        for name, value in fields.items():
            array[name][index] = np.void(value.ljust(16, b"\0")) if isinstance(value, bytes) else value
    return array


def write_link_log(path: Path, array: np.ndarray[Any, Any], config: Mapping[str, Any] | None = None) -> None:
    """The format of docs/reference/link-formats.md, of the version that the array's type belongs to."""
    version = 2 if array.dtype == RECORD_2 else 1
    fields = array.dtype.fields or {}
    default = {"version": version, "seed": 1, "linger_ns": 0, "up": [RATE_10MBIT], "down": [RATE_10MBIT]}
    header = {
        "version": version,
        "record_bytes": array.dtype.itemsize,
        "fields": [{"name": n, "type": t.str, "offset": offset, "unit": ""} for n, (t, offset, *_) in fields.items()],
        "config": default if config is None else config,
        "clock": {"monotonic_ns": MONOTONIC_T0, "unix_ns": T0},
        "verdicts": {"delivered": 0, "queued": 1, "dropped_loss": 2, "dropped_queue": 3},
    }
    text = json.dumps(header).encode()
    text += b" " * (-(12 + len(text)) % 64)
    magic = f"LLLINK{version}\n".encode()
    path.write_bytes(magic + len(text).to_bytes(4, "little") + text + array.tobytes())
