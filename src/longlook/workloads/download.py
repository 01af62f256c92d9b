"""`download`: one file, or several at once or in sequence, over one connection or over several that each fetch all."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import Content, InputError, Parameter, Scalar, WorkloadKind
from longlook.provision import Writer, make_content, noise

MAX_OBJECTS = 1_000
MAX_OBJECT_BYTES = 1 << 34
MAX_CONNECTIONS = 64
MAX_WAIT_S = 600


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return /download.bin, and /download-1.bin and so on if there is more than one object.

    With `at_once` they are asked for in groups of that size, each when the last of the group before has arrived and
    `idle_s` have passed; the first `warm_s` after the handshake. Raise InputError for a parameter out of bounds.
    """
    object_bytes, objects = int(parameters["object_bytes"]), int(parameters.get("objects", 1))
    connections, at_once = int(parameters.get("connections", 1)), int(parameters.get("at_once", 0))
    if not 1 <= object_bytes <= MAX_OBJECT_BYTES or not 1 <= objects <= MAX_OBJECTS:
        raise InputError(
            f"workload download: object_bytes = {object_bytes}, objects = {objects}",
            f"1 to {MAX_OBJECTS} objects of 1 to {MAX_OBJECT_BYTES} bytes",
        )
    if not 1 <= connections <= MAX_CONNECTIONS:
        raise InputError(
            f"workload download: connections = {connections}", f"1 to {MAX_CONNECTIONS} connections at once"
        )
    if not 0 <= at_once <= MAX_OBJECTS:
        raise InputError(f"workload download: at_once = {at_once}", f"0 to {MAX_OBJECTS} objects; 0 for all at once")
    resolved = {"object_bytes": object_bytes, "objects": objects}
    files = make_content("download", resolved, lambda to: _write(to, objects, object_bytes))
    (paths,) = files.phases
    groups, waits_s = in_groups("download", "asked for", paths, parameters)
    return replace(files, phases=groups, connections=connections, waits_s=waits_s)


def in_groups(
    workload: str, done: str, paths: tuple[str, ...], parameters: Mapping[str, Scalar]
) -> tuple[tuple[tuple[str, ...], ...], tuple[float, ...]]:
    """Return paths in groups of `at_once` (0: all), and the waits in s before each, none if there is nothing to wait.

    Raise InputError for `warm_s` and `idle_s` out of bounds, and for idle times between groups if there is one group;
    `done` says what becomes of its objects at once.
    """
    size = int(parameters.get("at_once", 0)) or len(paths)
    groups = tuple(paths[first : first + size] for first in range(0, len(paths), size))
    warm_s, idle_s = (float(parameters.get(name, 0)) for name in ("warm_s", "idle_s"))
    if not (0 <= warm_s <= MAX_WAIT_S and 0 <= idle_s <= MAX_WAIT_S):
        raise InputError(f"workload {workload}: warm = {warm_s:g}s, idle = {idle_s:g}s", f"0s to {MAX_WAIT_S}s")
    if idle_s and len(groups) == 1:
        raise InputError(
            f"workload {workload}: idle has no effect: all objects are {done} at once",
            "set objects, and at_once to the number of them between two idle times",
        )
    return groups, (warm_s, *[idle_s] * (len(groups) - 1)) if warm_s or idle_s else ()


def _write(to: Writer, objects: int, object_bytes: int) -> tuple[tuple[str, ...], ...]:
    paths = ("/download.bin", *(f"/download-{number}.bin" for number in range(1, objects)))
    for path in paths:
        to.add(path, noise(f"download {path}", object_bytes))
    return (paths,)


WORKLOAD = WorkloadKind(
    name="download",
    summary="one file of object_bytes, or several at once or in sequence, over each of one or several connections",
    parameters={
        "object_bytes": Parameter("size", "bytes of each file", minimum=1, maximum=MAX_OBJECT_BYTES),
        "objects": Parameter("count", "number of files", default=1, minimum=1, maximum=MAX_OBJECTS),
        "connections": Parameter(
            "count",
            "number of independent connections, opened at once, that fetch every file each",
            default=1,
            minimum=1,
            maximum=MAX_CONNECTIONS,
            omitted_at_default=True,
        ),
        "at_once": Parameter(
            "count",
            "so many files are requested at once, the next when the last of these has arrived; 0: all",
            default=0,
            minimum=0,
            maximum=MAX_OBJECTS,
            omitted_at_default=True,
        ),
        "idle_s": Parameter(
            "time",
            "between such groups: the connection stays open and nothing is asked for",
            default=0,
            minimum=0,
            maximum=MAX_WAIT_S,
            omitted_at_default=True,
        ),
        "warm_s": Parameter(
            "time",
            "from the completed handshake to the first request; 0: the request comes first",
            default=0,
            minimum=0,
            maximum=MAX_WAIT_S,
            omitted_at_default=True,
        ),
    },
    prepare=prepare,
    at_once=True,
)
