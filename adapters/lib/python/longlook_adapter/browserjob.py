"""One job of a browser, from standard input, checked."""

import json
from dataclasses import dataclass
from typing import Any

from longlook_adapter.either import EITHER
from longlook_adapter.errors import BadUsageError, UnsupportedError

PROTOCOLS = ("h3", "h2")

MEMORY = "memory"
NOTHING, ALT_SVC, PAGE = "none", "alt-svc", "page"
MEMORIES = (NOTHING, ALT_SVC, PAGE)
"""What a browser that chooses remembers as the load begins: values of the knob `memory`."""

RESOLVER = "resolver"
ADDRESSES, HTTPS_RECORD = "addresses", "https-record"
RESOLVERS = (NOTHING, ADDRESSES, HTTPS_RECORD)
"""What a browser that chooses learns from a resolver: values of the knob `resolver`."""

_KNOBS = {MEMORY: MEMORIES, RESOLVER: RESOLVERS}


@dataclass(frozen=True)
class BrowserJob:
    """A page to load, the first of `paths`, and the objects that it must bring in, the rest."""

    protocol: str
    connection: str
    address: str
    port: int
    paths: tuple[str, ...]
    timeout_s: float
    memory: str = NOTHING
    resolver: str = NOTHING

    @property
    def primes(self) -> bool:
        """Return whether an earlier connection must obtain a session ticket first."""
        return self.connection != "cold"


def parse_job(
    line: str, browser: str, connections: tuple[str, ...], protocols: tuple[str, ...] = PROTOCOLS
) -> BrowserJob:
    """Return the job in a line of JSON; BadUsageError names the key that is wrong, UnsupportedError what it cannot do.

    `connections` are the states that the browser supports, `protocols` what it can be asked to speak.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadUsageError(f"not a line of JSON: {error}") from error
    if not isinstance(data, dict):
        raise BadUsageError("a job is a JSON object")
    phases = _expect(data, "phases", list)
    if not phases or not all(isinstance(phase, list) for phase in phases):
        raise BadUsageError("job: `phases` is a list of lists of paths")
    paths = tuple(path for phase in phases for path in phase)
    if not paths or not all(isinstance(path, str) and path.startswith("/") for path in paths):
        raise BadUsageError("job: every path of `phases` is a text that begins with /")
    knobs = data.get("knobs") or {}
    job = BrowserJob(
        protocol=_expect(data, "protocol", str),
        connection=_expect(data, "connection", str),
        address=_expect(data, "address", str),
        port=_expect(data, "port", int),
        paths=paths,
        timeout_s=float(_expect(data, "timeout_s", int | float)),
        memory=knobs.get(MEMORY, NOTHING),
        resolver=knobs.get(RESOLVER, NOTHING),
    )
    if data.get("connections", 1) != 1:
        raise UnsupportedError(f"connections {data['connections']!r}: a browser decides itself; give 1")
    _check_supported(job, browser, connections, protocols)
    _check_knobs(job, knobs)
    return job


def _expect(data: dict[str, Any], key: str, kind: Any) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadUsageError(f"job: `{key}` is {value!r}, not {getattr(kind, '__name__', kind)}")
    return value


def _check_supported(job: BrowserJob, browser: str, connections: tuple[str, ...], protocols: tuple[str, ...]) -> None:
    if job.protocol not in protocols:
        raise UnsupportedError(f"protocol {job.protocol!r}: {browser} speaks {', '.join(protocols)} here")
    if job.connection not in connections:
        raise UnsupportedError(f"connection {job.connection!r}: known are {', '.join(connections)}")
    if job.connection == "0rtt" and job.protocol != "h3":
        raise UnsupportedError("connection '0rtt' needs protocol h3: early data over TCP is not measured")
    if job.connection != "cold" and job.protocol == EITHER:
        raise UnsupportedError(f"connection {job.connection!r} with {EITHER}: each of its connections is cold")


def _check_knobs(job: BrowserJob, knobs: dict[str, Any]) -> None:
    for name in sorted(knobs):
        if name not in _KNOBS:
            raise UnsupportedError(f"knob {name!r}: this client has none but {' and '.join(map(repr, _KNOBS))}")
        if job.protocol != EITHER:
            raise UnsupportedError(f"knob {name!r} has no meaning with {job.protocol}")
        if knobs[name] not in _KNOBS[name]:
            raise BadUsageError(f"knob {name}={knobs[name]!r}: allowed are {', '.join(_KNOBS[name])}")
