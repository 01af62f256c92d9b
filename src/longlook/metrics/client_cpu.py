"""The CPU time of the client."""

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.cpu_time import cpu_s
from longlook.timeline.timeline import Kind

METRIC = Metric(
    name="client_cpu",
    label="Client CPU time",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.CPU_USED,),
    measure=lambda timeline: cpu_s(timeline, Vantage.CLIENT),
    summary="User and system CPU seconds of the client's processes during the trial. The kernel charges the "
    "handling of received packets to whichever process runs at the time, so TCP's share is partly "
    "hidden.",
    real_time=True,
)
