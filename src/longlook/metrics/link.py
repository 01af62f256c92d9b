"""The packets of a load as the link handled them."""

import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import OF_DELAYS, OF_LOSSES, OF_PACKETS, OF_RATES, OF_SHARES, Better, Quantity
from longlook.metrics import Metric
from longlook.timeline import OVER_SECOND, EventKind, Kind, Timeline, among, are_marked, new_payload_bytes


def _goodput(timeline: Timeline) -> float | None:
    """Return the new payload that left the link towards the client during the load, in Mbit/s."""
    window = timeline.load_window_ns()
    if window is None or window[1] <= window[0]:
        return None
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    if packets.num_rows == 0:
        return None
    return float(new_payload_bytes(packets).sum() * 8 * 1e3 / (window[1] - window[0]))


def _packet_loss(timeline: Timeline) -> float | None:
    """Return the share in % of packets towards the client that were dropped, or None if the link saw none."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED], timeline.data_direction)
    if packets.num_rows == 0:
        return None
    dropped = pc.sum(pc.equal(packets["kind"].cast(pa.string()), Kind.PACKET_DROPPED.value)).as_py()
    return float(100.0 * dropped / packets.num_rows)


def _queue_delay(timeline: Timeline) -> float | None:
    """Return the mean wait in ms of the packets delivered to the client, or None if the link has no bottleneck."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    mean_s = pc.mean(packets["value"]).as_py()
    return None if mean_s is None else mean_s * 1e3


def _ce_marked(timeline: Timeline) -> float | None:
    """Return the share in % of packets towards the client that a queue marked, or None if none was delivered."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    return 100 * float(are_marked(packets).mean()) if packets.num_rows else None


def _retransmitted(timeline: Timeline) -> float | None:
    """Return the share in % of segments with payload at the link in the load, or None without the kernel's records."""
    again = timeline.events_in_load([EventKind.PACKET_RETRANSMITTED], timeline.sender)
    if again is None or timeline.events is None or not pc.any(among(timeline.events.table["source"], ["tcp"])).as_py():
        return None
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED], timeline.data_direction)
    segments = pc.sum(pc.greater(packets["payload_bytes"], 0)).as_py()
    return 100.0 * again.num_rows / segments if segments else None


def _second_link_share(timeline: Timeline) -> float | None:
    """Return the share of bytes in percent; None if nothing was delivered to the client in the load."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    total = pc.sum(packets["size_bytes"]).as_py()
    if not total:
        return None
    details = packets["detail"].cast(pa.string())
    second = packets.filter(pc.fill_null(pc.match_substring(details, OVER_SECOND), False))
    return 100.0 * (pc.sum(second["size_bytes"]).as_py() or 0) / float(total)


def _largest_packet(timeline: Timeline) -> float | None:
    """Return the size in bytes, with IP header, of the largest packet delivered in the load; None if none was."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    return float(pc.max(packets["size_bytes"]).as_py()) if packets.num_rows else None


def _largest_packet_time(timeline: Timeline) -> float | None:
    """Return seconds from the first request to the first delivery of a packet of the load's largest size."""
    window = timeline.load_window_ns()
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    if window is None or packets.num_rows == 0:
        return None
    largest = packets.filter(pc.equal(packets["size_bytes"], pc.max(packets["size_bytes"])))
    return (int(pc.min(largest["time_ns"]).as_py()) - window[0]) / 1e9


def _last_burst_time(timeline: Timeline) -> float | None:
    """Return seconds from the last request to the end of the load, or None if an object failed."""
    window, requests = timeline.load_window_ns(), timeline.select(Kind.REQUEST_SENT)
    if window is None or not requests.num_rows or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (window[1] - int(pc.max(requests["time_ns"]).as_py())) / 1e9


METRICS = (
    Metric(
        name="goodput",
        label="Goodput",
        unit="Mbit/s",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_goodput,
        summary="Payload that left the link towards the client during the load, divided by the load's time. TCP "
        "counts each byte once, by its sequence number. UDP counts whole, as QUIC's retransmissions look "
        "like any other packet.",
    ),
    Metric(
        name="packet_loss",
        label="Packets dropped",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
        measure=_packet_loss,
        summary="Share of the packets towards the client that the link dropped during the load, at random or "
        "because its queue was full.",
    ),
    Metric(
        name="queue_delay",
        label="Mean queueing delay",
        unit="ms",
        better=Better.LOWER,
        quantity=Quantity.AMOUNT,
        margin=OF_DELAYS,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_queue_delay,
        summary="Mean time that a packet towards the client waited in the link's queues during the load, until "
        "its own transmission began. None if the link has no rate.",
    ),
    Metric(
        name="ce_marked",
        label="Packets marked",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_ce_marked,
        summary="Share of the packets delivered to the client that a queue of the link marked with congestion "
        "experienced (ECN) during the load.",
    ),
    Metric(
        name="retransmitted",
        label="Segments retransmitted",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        needs=(EventKind.PACKET_RETRANSMITTED,),
        measure=_retransmitted,
        summary="Share of TCP's segments with payload that the server's kernel sent again during the load, from "
        "its own records (tracepoint tcp_retransmit_skb). Needs `[capture]` of traces.",
    ),
    Metric(
        name="second_link_share",
        label="Share over the second link",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED, Kind.REQUEST_SENT, Kind.PAGE_STARTED),
        measure=_second_link_share,
        summary="Share of the bytes of IP packets delivered to the client in the load that came over the second "
        "link. 0 if the path has one link.",
    ),
    Metric(
        name="largest_packet",
        label="Largest packet",
        unit="B",
        better=Better.HIGHER,
        margin=OF_PACKETS,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_largest_packet,
        summary="Size of the largest IP packet that the link delivered to the client during the load: the path MTU "
        "that the server found, or was content with.",
    ),
    Metric(
        name="largest_packet_time",
        label="Time to largest packet",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.PACKET_DELIVERED, Kind.REQUEST_SENT, Kind.PAGE_STARTED),
        measure=_largest_packet_time,
        summary="Time from the load's first request to the first delivery of a packet of the largest size that the "
        "client gets in it. With path MTU discovery (RFC 8899) that is the last probe that succeeds.",
    ),
    Metric(
        name="last_burst_time",
        label="Time of the last burst",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE),
        measure=_last_burst_time,
        summary="Time from the last request to the last byte: of downloads in groups the time of the last group, "
        "whatever the idle times before it.",
    ),
)
