"""A client's job file, checked."""

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook_adapter.errors import BadUsageError, UnsupportedError

COLD, RESUMED, EARLY = "cold", "resumed", "0rtt"
PRIME = "/prime"
"""The path that a priming connection fetches."""
MOST_CONNECTIONS = 64


@dataclass(frozen=True)
class Job:
    """A client's job: paths to fetch, and how."""

    protocol: str
    connection: str
    address: str
    port: int
    phases: tuple[tuple[str, ...], ...]
    host: str
    ca: str
    knobs: dict[str, Any]
    timeout_s: float
    connections: int
    priorities: dict[str, str]  # path → value of its header field `priority` (RFC 9218); no others have one

    @property
    def site(self) -> str:
        """Return scheme and authority of every URL; the port is left out where it is the scheme's own."""
        return f"https://{self.authority}"

    def reported_priority(self, path: str) -> dict[str, str]:
        """Return the key of an `object` line for the priority of a path's request; nothing if it has none."""
        return {"priority": self.priorities[path]} if path in self.priorities else {}

    @property
    def authority(self) -> str:
        """Return the value of `:authority` or `Host`."""
        return self.host if self.port == 443 else f"{self.host}:{self.port}"


def read_job(path: str, stack: str, protocols: tuple[str, ...]) -> Job:
    """Return the job in a file; BadUsageError names what is wrong, UnsupportedError what the stack cannot do."""
    try:
        data = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise BadUsageError(f"job: {error}") from error
    if not isinstance(data, dict):
        raise BadUsageError("a job is a JSON object")
    if data.get("protocol") not in protocols:
        raise UnsupportedError(f"protocol {data.get('protocol')!r}: {stack} speaks {' and '.join(protocols)}")
    if data.get("connection") not in (COLD, RESUMED, EARLY):
        raise UnsupportedError(f"connection state {data.get('connection')!r}")
    identity = _expect(data, "identity", dict)
    job = Job(
        protocol=data["protocol"],
        connection=data["connection"],
        address=_expect(data, "address", str),
        port=_expect(data, "port", int),
        phases=_phases(data),
        host=_expect(identity, "host", str),
        ca=_expect(identity, "ca", str),
        knobs=data.get("knobs") or {},
        timeout_s=float(_expect(data, "timeout_s", int | float)),
        connections=data.get("connections", 1),
        priorities=_expect({"priorities": {}, **data}, "priorities", dict),
    )
    _check(job)
    return job


def _check(job: Job) -> None:
    try:
        ipaddress.ip_address(job.address)
    except ValueError as error:
        raise BadUsageError(f"job: address: {error}") from error
    if not 0 < job.port < 65536 or job.timeout_s <= 0 or not job.host:
        raise BadUsageError("job: port, identity.host and timeout_s must be given")
    if not isinstance(job.connections, int) or not 1 <= job.connections <= MOST_CONNECTIONS:
        raise BadUsageError(f"job: connections is {job.connections!r}: give 1 to {MOST_CONNECTIONS}")


def _phases(data: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    phases = _expect(data, "phases", list)
    if not phases or not all(isinstance(phase, list) and phase for phase in phases):
        raise BadUsageError("job: `phases` is a list of lists of paths, none of them empty")
    if not all(isinstance(path, str) and path.startswith("/") for phase in phases for path in phase):
        raise BadUsageError("job: every path of `phases` is a text that begins with /")
    return tuple(tuple(phase) for phase in phases)


def _expect(data: dict[str, Any], key: str, kind: Any) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadUsageError(f"job: `{key}` is {value!r}, not {getattr(kind, '__name__', kind)}")
    return value
