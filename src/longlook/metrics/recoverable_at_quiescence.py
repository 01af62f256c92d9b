"""Lost packets that one packet of parity, sent whenever the sender falls silent, would have recovered."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.loss_epochs import loss_epochs, tails
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of the packets lost in the load that were alone in a tail; None if none was lost."""
    epochs, found = loss_epochs(timeline), tails(timeline)
    if not epochs or found is None:
        return None
    return 100.0 * sum(tail.lost == 1 for tail in found) / sum(epochs)


METRIC = Metric(
    name="recoverable_at_quiescence",
    label="Losses that parity on quiescence would recover",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
    measure=measure,
    summary="Share of the packets lost towards the client that were lost alone in the last round trip before the "
    "server sent nothing for longer than a round trip. "
    "An XOR of that round trip's packets, sent when the server falls silent, would have recovered them. "
    "It is the most that parity on quiescence could save (Langley et al., SIGCOMM 2017, 7.3); `recoverable_losses` is "
    "that of parity for all data. None if nothing was lost.",
)
