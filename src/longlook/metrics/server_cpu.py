"""The CPU time of the server."""

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the CPU seconds of the server's process tree, or None if they were not recorded."""
    used = timeline.select(Kind.CPU_USED, Vantage.SERVER)
    return None if used.num_rows == 0 else used["value"][0].as_py()


METRIC = Metric(
    name="server_cpu",
    label="Server CPU time",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.CPU_USED,),
    measure=measure,
    summary="User and system CPU seconds of the server's processes during the trial. The kernel charges the "
    "handling of received packets to whichever process runs at the time, so TCP's share is partly "
    "hidden.",
    real_time=True,
)
