"""The time from the first byte of the first answer to the last byte of all."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.first_byte import waiting_ns
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds, or None if an object failed or no first byte is known."""
    window, waited_ns = timeline.load_window_ns(), waiting_ns(timeline)
    if window is None or waited_ns is None or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (window[1] - window[0] - waited_ns) / 1e9


METRIC = Metric(
    name="receive_time",
    label="Time of receiving",
    unit="s",
    better=Better.LOWER,
    needs=(
        *(Kind.REQUEST_SENT, Kind.FIRST_BYTE, Kind.OBJECT_DONE, Kind.OBJECT_FAILED),
        *(Kind.PAGE_STARTED, Kind.PAGE_FIRST_BYTE, Kind.PAGE_LOADED),
    ),
    measure=measure,
    summary="The load without its time to first byte: from the first byte of the first answer to the end. "
    "The two together are the page load time, as Kakhki et al. split it to compare servers (IMC 2017, fig. 2).",
)
