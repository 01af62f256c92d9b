"""`download`: one file, or several at once, over one connection or over several that each fetch all."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core.errors import InputError
from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.core.workload import Parameter, WorkloadKind
from longlook.provision.content import Writer, content, noise

MAX_OBJECTS = 1_000
MAX_OBJECT_BYTES = 1 << 34
MAX_CONNECTIONS = 64


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return /download.bin, and /download-1.bin and so on where there is more than one object.

    Raise InputError for a parameter out of bounds.
    """
    object_bytes, objects = int(parameters["object_bytes"]), int(parameters.get("objects", 1))
    connections = int(parameters.get("connections", 1))
    if not 1 <= object_bytes <= MAX_OBJECT_BYTES or not 1 <= objects <= MAX_OBJECTS:
        raise InputError(
            f"workload download: object_bytes = {object_bytes}, objects = {objects}",
            f"1 to {MAX_OBJECTS} objects of 1 to {MAX_OBJECT_BYTES} bytes",
        )
    if not 1 <= connections <= MAX_CONNECTIONS:
        raise InputError(
            f"workload download: connections = {connections}", f"1 to {MAX_CONNECTIONS} connections at once"
        )
    resolved = {"object_bytes": object_bytes, "objects": objects}
    files = content("download", resolved, lambda to: _write(to, objects, object_bytes))
    return replace(files, connections=connections)


def _write(to: Writer, objects: int, object_bytes: int) -> tuple[tuple[str, ...], ...]:
    paths = ("/download.bin", *(f"/download-{number}.bin" for number in range(1, objects)))
    for path in paths:
        to.add(path, noise(f"download {path}", object_bytes))
    return (paths,)


WORKLOAD = WorkloadKind(
    name="download",
    summary="one file of object_bytes, or several at once, over each of one or several connections",
    parameters={
        "object_bytes": Parameter("size", "bytes of each file", minimum=1, maximum=MAX_OBJECT_BYTES),
        "objects": Parameter("count", "number of files, requested at once", default=1, minimum=1, maximum=MAX_OBJECTS),
        "connections": Parameter(
            "count",
            "number of independent connections, opened at once, that fetch every file each",
            default=1,
            minimum=1,
            maximum=MAX_CONNECTIONS,
            omitted_at_default=True,
        ),
    },
    prepare=prepare,
)
