"""`download`: one file, or several at once."""

from collections.abc import Mapping

from longlook.content import Writer, content, noise
from longlook.errors import InputError
from longlook.job import Content
from longlook.model import Scalar
from longlook.workloads import Parameter, WorkloadKind

MAX_OBJECTS = 1_000
MAX_OBJECT_BYTES = 1 << 34


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """/download.bin, and /download-1.bin and so on where there is more than one object."""
    object_bytes, objects = int(parameters["object_bytes"]), int(parameters.get("objects", 1))
    if not 1 <= object_bytes <= MAX_OBJECT_BYTES or not 1 <= objects <= MAX_OBJECTS:
        raise InputError(
            f"workload download: object_bytes = {object_bytes}, objects = {objects}",
            f"1 to {MAX_OBJECTS} objects of 1 to {MAX_OBJECT_BYTES} bytes",
        )
    resolved = {"object_bytes": object_bytes, "objects": objects}
    return content("download", resolved, lambda to: _write(to, objects, object_bytes))


def _write(to: Writer, objects: int, object_bytes: int) -> tuple[tuple[str, ...], ...]:
    paths = ("/download.bin", *(f"/download-{number}.bin" for number in range(1, objects)))
    for path in paths:
        to.add(path, noise(f"download {path}", object_bytes))
    return (paths,)


WORKLOAD = WorkloadKind(
    name="download",
    summary="one file of object_bytes, or several at once",
    parameters={
        "object_bytes": Parameter("size", "bytes of each file", minimum=1, maximum=MAX_OBJECT_BYTES),
        "objects": Parameter("count", "number of files, requested at once", default=1, minimum=1, maximum=MAX_OBJECTS),
    },
    prepare=prepare,
)
