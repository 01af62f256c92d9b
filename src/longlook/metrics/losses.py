"""Which packets were lost at the link, and what could have been done about them."""

from longlook.core import OF_SHARES, Better, Quantity
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline, loss_epochs_of, tails


def _single_loss_epochs(timeline: Timeline) -> float | None:
    """Return the share in % of the load's loss epochs that lost exactly one packet, or None if nothing was lost."""
    epochs = loss_epochs_of(timeline)
    return 100.0 * epochs.count(1) / len(epochs) if epochs else None


def _recoverable_losses(timeline: Timeline) -> float | None:
    """Return the share in % of the packets lost in the load that were alone in their epoch; None if none was lost."""
    epochs = loss_epochs_of(timeline)
    return 100.0 * epochs.count(1) / sum(epochs) if epochs else None


def _recoverable_at_quiescence(timeline: Timeline) -> float | None:
    """Return the share in % of the packets lost in the load that were alone in a tail; None if none was lost."""
    epochs, found = loss_epochs_of(timeline), tails(timeline)
    if not epochs or found is None:
        return None
    return 100.0 * sum(tail.lost == 1 for tail in found) / sum(epochs)


def _losses_of_last_packets(timeline: Timeline) -> float | None:
    """Return the share in % of the packets lost in the load that were the last of a flight; None if none was lost."""
    epochs, found = loss_epochs_of(timeline), tails(timeline)
    if not epochs or found is None:
        return None
    return 100.0 * sum(tail.last_is_lost for tail in found) / sum(epochs)


METRICS = (
    Metric(
        name="single_loss_epochs",
        label="Loss epochs of one packet",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
        measure=_single_loss_epochs,
        summary="Share of the loss epochs that lost exactly one packet towards the client (Langley et al., SIGCOMM "
        "2017, 7.3). An epoch begins with a lost packet and lasts for one round trip through the link. These "
        "are the epochs that the recovery of a single packet would have helped. None if nothing was lost.",
    ),
    Metric(
        name="recoverable_losses",
        label="Losses that parity would recover",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
        measure=_recoverable_losses,
        summary="Share of the packets lost towards the client that an XOR of all packets of their loss epoch would "
        "have recovered, had that one packet of parity arrived: packets that were lost alone. It is the most "
        "that the forward error correction of Langley et al. (SIGCOMM 2017, 7.3) could save with one packet "
        "in each round trip. None if nothing was lost.",
    ),
    Metric(
        name="recoverable_at_quiescence",
        label="Losses that parity on quiescence would recover",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
        measure=_recoverable_at_quiescence,
        summary="Share of the packets lost towards the client that were lost alone in the last round trip before the "
        "server sent nothing for longer than a round trip. An XOR of that round trip's packets, sent when the "
        "server falls silent, would have recovered them. It is the most that parity on quiescence could save "
        "(Langley et al., SIGCOMM 2017, 7.3); `recoverable_losses` is the share for parity of all data. None if "
        "nothing was lost.",
    ),
    Metric(
        name="losses_of_last_packets",
        label="Losses of last packets",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
        measure=_losses_of_last_packets,
        summary="Share of the packets lost towards the client after which the server sent nothing for longer than a "
        "round trip. It is the most that the retransmission of the last packet alone, as soon as the sender "
        "falls silent, could save. Langley et al. compare parity with such aggressive retransmission at the "
        "tail (SIGCOMM 2017, 7.3). It costs as many packets as the parity of `recoverable_at_quiescence`. "
        "None if nothing was lost.",
    ),
)
