"""Lost packets that a copy of the last packet, sent whenever the sender falls silent, would have replaced."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.loss_epochs import loss_epochs, tails
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of the packets lost in the load that were the last of a flight; None if none was lost."""
    epochs, found = loss_epochs(timeline), tails(timeline)
    if not epochs or found is None:
        return None
    return 100.0 * sum(tail.last_is_lost for tail in found) / sum(epochs)


METRIC = Metric(
    name="losses_of_last_packets",
    label="Losses of last packets",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
    measure=measure,
    summary="Share of the packets lost towards the client after which the server sent nothing for longer than a round "
    "trip. It is the most that the retransmission of the last packet alone, as soon as the sender falls silent, could "
    "save. Langley et al. compare parity with such aggressive retransmission at the tail (SIGCOMM 2017, 7.3). "
    "It costs as many packets as the parity of `recoverable_at_quiescence`. None if nothing was lost.",
)
