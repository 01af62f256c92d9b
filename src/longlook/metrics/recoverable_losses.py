"""Lost packets that one packet of parity in each round trip would have recovered."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.loss_epochs import loss_epochs
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of the packets lost in the load that were alone in their epoch; None if none was lost."""
    epochs = loss_epochs(timeline)
    return 100.0 * epochs.count(1) / sum(epochs) if epochs else None


METRIC = Metric(
    name="recoverable_losses",
    label="Losses that parity would recover",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
    measure=measure,
    summary="Share of the packets lost towards the client that an XOR of all packets of their loss epoch would have "
    "recovered, had that one packet of parity arrived: those that were lost alone. "
    "It is the most that the forward error correction of Langley et al. (SIGCOMM 2017, 7.3) could save with one "
    "packet in each round trip. "
    "None if nothing was lost.",
)
