"""One order from standard input, checked."""

import json
from dataclasses import dataclass
from typing import Any

from chromium_driver.errors import BadJobError, UnsupportedError

PROTOCOLS = ("h3", "h2")
CONNECTIONS = ("cold", "resumed", "0rtt")


@dataclass(frozen=True)
class Job:
    """What to load: the first path of `paths` is the page, the rest are what it must bring in."""

    protocol: str
    connection: str
    address: str
    port: int
    paths: tuple[str, ...]
    timeout_s: float

    @property
    def primes(self) -> bool:
        """Whether an earlier connection must earn a ticket first."""
        return self.connection != "cold"


def parse_job(line: str) -> Job:
    """A job from its line of JSON; BadJobError says which key is wrong, UnsupportedError what Chromium cannot do."""
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadJobError(f"not a line of JSON: {error}") from error
    if not isinstance(data, dict):
        raise BadJobError("a job is a JSON object")
    phases = _expect(data, "phases", list)
    if not phases or not all(isinstance(phase, list) for phase in phases):
        raise BadJobError("job: `phases` is a list of lists of paths")
    paths = tuple(path for phase in phases for path in phase)
    if not paths or not all(isinstance(path, str) and path.startswith("/") for path in paths):
        raise BadJobError("job: every path of `phases` is a text that begins with /")
    job = Job(
        protocol=_expect(data, "protocol", str),
        connection=_expect(data, "connection", str),
        address=_expect(data, "address", str),
        port=_expect(data, "port", int),
        paths=paths,
        timeout_s=float(_expect(data, "timeout_s", int | float)),
    )
    if data.get("connections", 1) != 1:
        raise UnsupportedError(f"connections {data['connections']!r}: a browser opens as many as it likes, here one")
    _check_supported(job, data.get("knobs") or {})
    return job


def _expect(data: dict[str, Any], key: str, kind: Any) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadJobError(f"job: `{key}` is {value!r}, not {getattr(kind, '__name__', kind)}")
    return value


def _check_supported(job: Job, knobs: dict[str, Any]) -> None:
    if job.protocol not in PROTOCOLS:
        raise UnsupportedError(f"protocol {job.protocol!r}: Chromium speaks {' and '.join(PROTOCOLS)} here")
    if job.connection not in CONNECTIONS:
        raise UnsupportedError(f"connection {job.connection!r}: known are {', '.join(CONNECTIONS)}")
    if job.connection == "0rtt" and job.protocol != "h3":
        raise UnsupportedError("connection '0rtt' needs protocol h3: early data over TCP is not measured")
    if knobs:
        raise UnsupportedError(f"knob {min(knobs)!r}: this client has none")
