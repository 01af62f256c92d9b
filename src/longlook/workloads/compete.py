"""`compete`: several flows at once over one link, each with a client and a server of its own."""

from collections.abc import Mapping

from longlook.core import (
    DURATION,
    ENDLESS,
    OBJECTS,
    WARM_UP,
    Content,
    InputError,
    Parameter,
    Scalar,
    WorkloadKind,
    endless_path,
    whole_path,
)
from longlook.provision import Writer, make_content, noise

MAX_OBJECT_BYTES = 1 << 34


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return one file for each size that a flow fetches whole, and an endless one: a hole, which takes no space.

    Raise InputError for a size out of bounds.
    """
    sizes = [int(size) for size in str(parameters[OBJECTS]).split(",") if size]
    endless_bytes = int(parameters[ENDLESS])
    if any(not 1 <= size <= MAX_OBJECT_BYTES for size in (*sizes, endless_bytes or 1)):
        raise InputError(
            f"workload compete: files of {sizes} and {endless_bytes} bytes", f"1 to {MAX_OBJECT_BYTES} bytes"
        )
    return make_content("compete", dict(parameters), lambda to: _write(to, sizes, endless_bytes))


def _write(to: Writer, sizes: list[int], endless_bytes: int) -> tuple[tuple[str, ...], ...]:
    paths = []
    for size in sizes:
        paths.append(whole_path(size))
        to.add(paths[-1], noise(f"compete {size}", size))
    if endless_bytes:
        paths.append(endless_path())
        to.add_hole(paths[-1], endless_bytes)
    return (tuple(paths),)


WORKLOAD = WorkloadKind(
    name="compete",
    summary="several flows over one link, as the arm's `flows` say, for a fixed time or a fixed amount each",
    parameters={
        DURATION: Parameter(
            "time", "all flows stop together this long after the first", minimum=0.1, maximum=3600, optional=True
        ),
        "object_bytes": Parameter(
            "size", "what each flow fetches, instead of a duration", minimum=1, maximum=MAX_OBJECT_BYTES, optional=True
        ),
        "start": Parameter(
            "start", "when a flow starts: a time, or random(TIME) for one up to that", default="random(1s)"
        ),
        WARM_UP: Parameter("time", "after the last start, not measured", default=0, minimum=0, maximum=3600),
    },
    prepare=prepare,
    competes=True,
)
