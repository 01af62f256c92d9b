"""Made-up output of the collectors of a trial: profiles of CPU time, and a server's trace of a QUIC connection."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longlook.core import FACTS, FOLDER, KERNEL
from longlook.engines.fake.link_log import ConnectionLoad

_FREQUENCY_HZ = 4999
_STACKS = {
    "main.main;crypto/aes.encrypt": 0.3,
    f"main.main;entry_SYSCALL_64{KERNEL};udp_sendmsg{KERNEL};ip_output{KERNEL}": 0.5,
    "main.main;[unknown]": 0.2,
}
"""Call stacks of a program, and the share of its CPU time."""
_STATES = ("slow_start", "congestion_avoidance", "recovery", "congestion_avoidance")
_PACKETS = 24
_PACKET_BYTES, _RTT_MS = 1200, 36.0


def write_profile(folder: Path, cpu_s: dict[str, float]) -> None:
    """Write where both ends of a trial spent their CPU time, in s, as samples of their call stacks."""
    place = folder / FOLDER
    place.mkdir()
    for role in ("client", "server"):
        lines = [
            f"{role};{stack} {round(share * cpu_s[role] * _FREQUENCY_HZ)}"
            for stack, share in _STACKS.items()
            if round(share * cpu_s[role] * _FREQUENCY_HZ)
        ]
        (place / f"{role}.folded").write_text("".join(f"{line}\n" for line in lines))
    (place / FACTS).write_text(json.dumps({"frequency_hz": _FREQUENCY_HZ}) + "\n")


def write_server_trace(folder: Path, load: ConnectionLoad) -> None:
    """Write a server's qlog of one connection (draft-ietf-quic-qlog-main-schema): packets, a window that grows, states
    of its controller.
    """
    place = folder / "qlog" / "server"
    place.mkdir(parents=True)
    header = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "trace": {
            "vantage_point": {"type": "server"},
            "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z"},
            },
        },
    }
    records = [header, *_events(load)]
    (place / "made-up.sqlog").write_text("".join(f"\x1e{json.dumps(record)}\n" for record in records))


def _events(load: ConnectionLoad) -> Iterator[dict[str, Any]]:
    span_ns = max(0, load.end_ns - load.secure_ns)
    for number in range(_PACKETS):
        time_ms = (load.secure_ns + span_ns * number // _PACKETS) / 1e6
        header = {"packet_type": "1RTT", "packet_number": number}
        yield {
            "time": time_ms,
            "name": "quic:packet_sent",
            "data": {"header": header, "raw": {"length": _PACKET_BYTES}},
        }
        window = {
            "congestion_window": (10 + number) * _PACKET_BYTES,
            "bytes_in_flight": (5 + number) * _PACKET_BYTES,
            "smoothed_rtt": _RTT_MS,
            "latest_rtt": _RTT_MS,
            "min_rtt": _RTT_MS,
        }
        yield {"time": time_ms, "name": "quic:recovery_metrics_updated", "data": window}
        if number % (_PACKETS // len(_STATES)) == 0:
            state = {"new": _STATES[number * len(_STATES) // _PACKETS]}
            yield {"time": time_ms, "name": "quic:congestion_state_updated", "data": state}
