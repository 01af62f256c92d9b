"""The CPU time that the client takes to move a gigabyte."""

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.cpu_time import per_gb
from longlook.timeline.timeline import Kind

METRIC = Metric(
    name="client_cpu_per_gb",
    label="Client CPU time per gigabyte",
    unit="s/GB",
    better=Better.LOWER,
    needs=(Kind.CPU_USED, Kind.OBJECT_DONE),
    measure=lambda timeline: per_gb(timeline, Kind.CPU_USED, Vantage.CLIENT),
    summary="CPU seconds of the client's processes in the whole trial (`client_cpu`), divided by the body bytes of all "
    "objects that arrived. Start and handshake count, too: it says what a byte costs where the load is long.",
    real_time=True,
)
