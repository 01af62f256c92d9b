"""The job file of an echo's client, checked. The common part's `read_job` is for jobs that fetch files."""

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook_adapter.errors import BadUsageError, UnsupportedError

from echo_adapter import NAME, PROTOCOLS, QUIC, SMALLEST_QUIC_BYTES
from echo_adapter.sockets import dont_fragment_of

SMALLEST_BYTES = 64


@dataclass(frozen=True)
class EchoJob:
    """What to send, and where."""

    protocol: str
    address: str
    port: int
    host: str
    ca: str
    payloads: tuple[int, ...]
    tries: int
    interval_s: float
    dont_fragment: str


def read_echo_job(path: str) -> EchoJob:
    """Return the job in a file; BadUsageError names what is wrong, UnsupportedError what an echo cannot do."""
    try:
        data = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise BadUsageError(f"job: {error}") from error
    if not isinstance(data, dict):
        raise BadUsageError("a job is a JSON object")
    if data.get("protocol") not in PROTOCOLS:
        raise UnsupportedError(f"protocol {data.get('protocol')!r}: {NAME} speaks {' and '.join(PROTOCOLS)}")
    if data.get("connection") != "cold":
        raise UnsupportedError(f"connection state {data.get('connection')!r}: every connection of an echo is cold")
    if data.get("connections", 1) != 1:
        raise UnsupportedError("several connections: an echo opens one after the other")
    dont_fragment = dont_fragment_of(data.get("knobs") or {}, data["protocol"])
    echo = data.get("echo")
    if not isinstance(echo, dict):
        raise UnsupportedError("a job without `echo`: this client fetches nothing")
    identity = data.get("identity") or {}
    try:
        job = EchoJob(
            protocol=data["protocol"],
            address=str(ipaddress.ip_address(data["address"])),
            port=int(data["port"]),
            host=str(identity["host"]),
            ca=str(identity["ca"]),
            payloads=tuple(_whole(size) for size in echo["payloads"]),
            tries=_whole(echo["tries"]),
            interval_s=float(echo["interval_s"]),
            dont_fragment=dont_fragment,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadUsageError(f"job: {error!r}") from error
    _check(job)
    return job


def _check(job: EchoJob) -> None:
    least = SMALLEST_QUIC_BYTES if job.protocol == QUIC else SMALLEST_BYTES
    if not job.payloads or min(job.payloads) < least:
        raise BadUsageError(f"job: `echo.payloads` are sizes of {least} bytes or more over {job.protocol}")
    if job.tries < 1 or not 0 < job.interval_s < float("inf"):
        raise BadUsageError("job: `echo.tries` is 1 or more, `echo.interval_s` above 0")
    if not 0 < job.port < 65536:
        raise BadUsageError("job: `port` must be given")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value
