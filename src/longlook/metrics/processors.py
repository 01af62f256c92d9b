"""The costs of a load for the processors of both ends."""

import pyarrow.compute as pc

from longlook.core import Better, Margin, Vantage
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline

_GB = 1e9

OF_COSTS = Margin(3.0, "a processor carries its capacity by the cost of a byte, so the margin is the same as for rates")


def cpu_s(timeline: Timeline, end: Vantage) -> float | None:
    """Return the CPU seconds of an end's process tree, or None if they were not recorded."""
    used = timeline.select(Kind.CPU_USED, end)
    return None if used.num_rows == 0 else used["value"][0].as_py()


def per_gb(timeline: Timeline, kind: Kind, end: Vantage) -> float | None:
    """Return the value of an end's only row of a kind (`CPU_USED`, `PACKETS_TAKEN`, `SYSTEM_CALLS`) for each gigabyte.

    A gigabyte is 10⁹ bytes of bodies that arrived. None if there is no such row, a size is unknown or nothing arrived.
    """
    found, done = timeline.select(kind, end), timeline.select(timeline.body_done)
    if found.num_rows == 0 or done["size_bytes"].null_count:
        return None
    body_bytes = pc.sum(done["size_bytes"]).as_py() or 0
    return found["value"][0].as_py() * _GB / body_bytes if body_bytes else None


METRICS = (
    Metric(
        name="client_cpu",
        label="Client CPU time",
        unit="s",
        better=Better.LOWER,
        margin=OF_COSTS,
        needs=(Kind.CPU_USED,),
        measure=lambda timeline: cpu_s(timeline, Vantage.CLIENT),
        summary="User and system CPU seconds of the client's processes during the trial. The kernel charges the "
        "handling of received packets to whichever process runs at the time, so TCP's share is partly "
        "hidden.",
        real_time=True,
    ),
    Metric(
        name="server_cpu",
        label="Server CPU time",
        unit="s",
        better=Better.LOWER,
        margin=OF_COSTS,
        needs=(Kind.CPU_USED,),
        measure=lambda timeline: cpu_s(timeline, Vantage.SERVER),
        summary="User and system CPU seconds of the server's processes during the trial. The kernel charges the "
        "handling of received packets to whichever process runs at the time, so TCP's share is partly "
        "hidden.",
        real_time=True,
    ),
    Metric(
        name="client_cpu_per_gb",
        label="Client CPU time per gigabyte",
        unit="s/GB",
        better=Better.LOWER,
        margin=OF_COSTS,
        needs=(Kind.CPU_USED, Kind.OBJECT_DONE),
        measure=lambda timeline: per_gb(timeline, Kind.CPU_USED, Vantage.CLIENT),
        summary="CPU seconds of the client's processes in the whole trial (`client_cpu`), divided by the body bytes "
        "of all objects that arrived. Start and handshake count, too: it says what a byte costs where the "
        "load is long.",
        real_time=True,
    ),
    Metric(
        name="server_cpu_per_gb",
        label="Server CPU time per gigabyte",
        unit="s/GB",
        better=Better.LOWER,
        margin=OF_COSTS,
        needs=(Kind.CPU_USED, Kind.OBJECT_DONE),
        measure=lambda timeline: per_gb(timeline, Kind.CPU_USED, Vantage.SERVER),
        summary="CPU seconds of the server's processes in the whole trial (`server_cpu`), divided by the body bytes "
        "of all objects that arrived. Start and handshake count, too: it says what a byte costs where the "
        "load is long.",
        real_time=True,
    ),
    Metric(
        name="client_calls_per_gb",
        label="System calls of the client, per gigabyte",
        unit="calls/GB",
        better=Better.LOWER,
        margin=OF_COSTS,
        needs=(Kind.SYSTEM_CALLS, Kind.OBJECT_DONE),
        measure=lambda timeline: per_gb(timeline, Kind.SYSTEM_CALLS, Vantage.CLIENT),
        summary="System calls of the client's processes in the whole trial, divided by the body bytes of all objects "
        "that arrived. Every sixteenth is counted, where a study has `[capture] cpu = true`.",
        counted=True,
    ),
    Metric(
        name="client_packets_per_gb",
        label="Packets that the client's kernel handles, per gigabyte",
        unit="packets/GB",
        better=Better.LOWER,
        margin=OF_COSTS,
        needs=(Kind.PACKETS_TAKEN, Kind.OBJECT_DONE),
        measure=lambda timeline: per_gb(timeline, Kind.PACKETS_TAKEN, Vantage.CLIENT),
        summary="Packets that the client's kernel took from its device in the whole trial, divided by the body bytes "
        "of all objects that arrived. Packets that an offload merged before count as one "
        "(`LONGLOOK_DATAPATH=offload`); without an offload this is what the link delivered.",
        counted=True,
    ),
)
