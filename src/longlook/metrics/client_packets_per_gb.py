"""The packets that the client's kernel handles to receive a gigabyte."""

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.cpu_time import per_gb
from longlook.timeline.timeline import Kind

METRIC = Metric(
    name="client_packets_per_gb",
    label="Packets that the client's kernel handles, per gigabyte",
    unit="packets/GB",
    better=Better.LOWER,
    needs=(Kind.PACKETS_TAKEN, Kind.OBJECT_DONE),
    measure=lambda timeline: per_gb(timeline, Kind.PACKETS_TAKEN, Vantage.CLIENT),
    summary="Packets that the client's kernel took from its device in the whole trial, divided by the body bytes of "
    "all objects that arrived. Packets that an offload merged before count as one (`LONGLOOK_DATAPATH=offload`); "
    "without an offload this is what the link delivered.",
    counted=True,
)
