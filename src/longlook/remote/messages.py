"""Messages to a worker and its answers: bytes, so that any executor can carry them.

A message is the length of its head, the head as JSON, and the parts that the head lists, one after the other. Heads of
later versions keep `format` and `kind`, so that each side can say that the other one is of another version.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from longlook.core import InputError, Job, codec
from longlook.remote.entries import Entry

FORMAT = 1
_LENGTH_BYTES = 8
_LARGEST_HEAD_BYTES = 1 << 28
_HINT = "install the same Longlook on this machine, the scheduler and every worker"


@dataclass(frozen=True)
class Worker:
    """The machine that a worker is on, and the process. `address` is the executor's name of it, if it has one."""

    host: str
    pid: int
    cpu: str
    kernel: str
    longlook: str
    address: str = ""

    def __str__(self) -> str:
        return f"{self.host} ({self.address or f'process {self.pid}'})"


@dataclass(frozen=True)
class Request:
    """Portable jobs to run together, and all that decides their results: facts, the engine's setting, entries."""

    jobs: tuple[Job, ...]
    facts: Mapping[str, str]
    programs: Mapping[str, str]  # facts about the programs that workers have by themselves
    setting: Mapping[str, str]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Missing:
    """The digests of entries that the worker lacks: the request is to come again with their blobs."""

    worker: Worker
    digests: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """Facts that differ on the worker, so that it could not give the same bytes: name → wanted, and there."""

    worker: Worker
    differs: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Unable:
    """The worker's machine cannot run it: no guest boots, or its disk is full."""

    worker: Worker
    message: str
    hint: str | None


@dataclass(frozen=True)
class Wrong:
    """The input is wrong wherever it runs, as a file of links that is damaged."""

    worker: Worker
    message: str
    hint: str | None


@dataclass(frozen=True)
class Done:
    """The trials ran. The packed part has a folder for each job, by its number."""

    worker: Worker
    wall_s: float


Answer = Missing | Refused | Unable | Wrong | Done
_KINDS: Mapping[str, type[Answer]] = {kind.__name__.lower(): kind for kind in (Missing, Refused, Unable, Wrong, Done)}


@dataclass(frozen=True)
class _Head:
    format: int
    kind: str
    body: Any
    parts: Mapping[str, int] = field(default_factory=dict)  # name → bytes, in the order in which they follow


def write_request(request: Request, blobs: Mapping[str, bytes]) -> bytes:
    """Return a request as bytes, with the blobs of entries by digest."""
    return _written("request", request, blobs)


def read_request(message: bytes) -> tuple[Request, dict[str, bytes]]:
    """Return a request and its blobs; InputError if it is damaged or of another version."""
    head, parts = _read(message)
    return _body(Request, head), parts


def write_answer(answer: Answer, packed: bytes = b"") -> bytes:
    """Return an answer as bytes."""
    return _written(type(answer).__name__.lower(), answer, {"folders": packed} if packed else {})


def read_answer(message: bytes) -> tuple[Answer, bytes]:
    """Return an answer, and what is packed with it; InputError if it is damaged or of another version."""
    head, parts = _read(message)
    if head.kind not in _KINDS:
        raise InputError(f"a worker answered {head.kind[:80]!r}, which this version does not know", _HINT)
    return _body(_KINDS[head.kind], head), parts.get("folders", b"")


def _written(kind: str, body: object, parts: Mapping[str, bytes]) -> bytes:
    head = _Head(FORMAT, kind, codec.encode(body), {name: len(part) for name, part in parts.items()})
    text = json.dumps(codec.encode(head)).encode()
    return b"".join((len(text).to_bytes(_LENGTH_BYTES, "little"), text, *parts.values()))


def _read(message: bytes) -> tuple[_Head, dict[str, bytes]]:
    size = int.from_bytes(message[:_LENGTH_BYTES], "little")
    try:
        data = json.loads(message[_LENGTH_BYTES : _LENGTH_BYTES + min(size, _LARGEST_HEAD_BYTES)])
        head = _Head(data["format"], str(data["kind"]), data["body"], dict(data["parts"]))
        parts = _parts(message, _LENGTH_BYTES + size, head.parts)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"a message between a worker and this machine is damaged: {error}", _HINT) from error
    if head.format != FORMAT:
        raise InputError(f"a message has the format {head.format!r}, and this version reads {FORMAT}", _HINT)
    return head, parts


def _parts(message: bytes, begin: int, sizes: Mapping[str, int]) -> dict[str, bytes]:
    found = {}
    for name, size in sizes.items():
        if size < 0 or begin + size > len(message):
            raise ValueError(f"part {name} is cut")
        found[name] = message[begin : begin + size]
        begin += size
    return found


def _body(kind: Any, head: _Head) -> Any:
    try:
        return codec.decode(kind, head.body)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"a message between a worker and this machine does not fit: {error}", _HINT) from error
