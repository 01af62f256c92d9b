"""Loss epochs that lost a single packet."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.loss_epochs import loss_epochs
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of the load's loss epochs that lost exactly one packet, or None if nothing was lost."""
    epochs = loss_epochs(timeline)
    return 100.0 * epochs.count(1) / len(epochs) if epochs else None


METRIC = Metric(
    name="single_loss_epochs",
    label="Loss epochs of one packet",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
    measure=measure,
    summary="Share of the loss epochs that lost exactly one packet towards the client (Langley et al., SIGCOMM 2017, "
    "7.3). An epoch begins with a lost packet and lasts for one round trip through the link. "
    "These are the epochs that the recovery of a single packet would have helped. "
    "None if nothing was lost.",
)
