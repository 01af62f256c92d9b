"""How much of a load came over QUIC."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the objects that came over QUIC in %; None where nothing arrived or no protocol is known."""
    done = timeline.select(Kind.OBJECT_DONE)
    spoken = done["protocol"].cast("string").drop_null()
    if len(spoken) == 0:
        return None
    return 100.0 * float(pc.mean(pc.starts_with(spoken, "h3").cast("int8")).as_py())


METRIC = Metric(
    name="quic_share",
    label="Objects over QUIC",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.OBJECT_DONE,),
    measure=measure,
    summary="Share of the objects that came over QUIC, by the client's word for each. "
    "For a load of one object it is 0 or 100, and its mean over rounds is the share of loads on QUIC.",
)
"""Objects over QUIC."""
