"""The system calls that the client makes to receive a gigabyte."""

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.cpu_time import per_gb
from longlook.timeline.timeline import Kind

METRIC = Metric(
    name="client_calls_per_gb",
    label="System calls of the client, per gigabyte",
    unit="calls/GB",
    better=Better.LOWER,
    needs=(Kind.SYSTEM_CALLS, Kind.OBJECT_DONE),
    measure=lambda timeline: per_gb(timeline, Kind.SYSTEM_CALLS, Vantage.CLIENT),
    summary="System calls of the client's processes in the whole trial, divided by the body bytes of all objects that "
    "arrived. Every sixteenth is counted, where a study has `[capture] cpu = true`.",
    counted=True,
)
