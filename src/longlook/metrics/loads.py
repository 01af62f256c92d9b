"""How long a load takes, and what its connection did."""

import numpy as np
import pyarrow.compute as pc

from longlook.core import OF_RATES, OF_SHARES, Better, ConnectionState, Quantity, Vantage, find_protocol
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline


def waiting_ns(timeline: Timeline) -> int | None:
    """Return the time from the first request, or a browser's navigation start, to the first byte of its answer.

    None if either is missing.
    """
    started = timeline.select(Kind.PAGE_STARTED)
    answered = timeline.select(Kind.PAGE_FIRST_BYTE)
    if started.num_rows == 0:
        started = timeline.select(Kind.REQUEST_SENT).slice(0, 1)
        answered = timeline.select(Kind.FIRST_BYTE)
        if started.num_rows:
            answered = answered.filter(pc.equal(answered["name"].cast("string"), started["name"][0].as_py()))
            if (flow := started["flow"][0].as_py()) is not None:  # of several connections, the request's own
                answered = answered.filter(pc.equal(answered["flow"].cast("string"), flow))
    if started.num_rows == 0 or answered.num_rows == 0:
        return None
    return int(answered["time_ns"][0].as_py()) - int(started["time_ns"][0].as_py())


def _page_load_time(timeline: Timeline) -> float | None:
    """Return the seconds of the load window, or None if an object failed: such a page did not load."""
    window = timeline.load_window_ns()
    if window is None or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (window[1] - window[0]) / 1e9


def _time_to_first_byte(timeline: Timeline) -> float | None:
    """Return seconds from the first request, or a browser's navigation start, to the first byte of its answer."""
    waited_ns = waiting_ns(timeline)
    return None if waited_ns is None else waited_ns / 1e9


def _handshake_time(timeline: Timeline) -> float | None:
    """Return seconds from opening the first measured connection to its completed handshake, seen by the client."""
    started = timeline.select(Kind.CONNECTION_STARTED, Vantage.CLIENT).slice(0, 1)
    if started.num_rows == 0:
        return None
    done = timeline.select(Kind.HANDSHAKE_DONE, Vantage.CLIENT)
    done = done.filter(pc.equal(done["flow"].cast("string"), started["flow"][0].as_py()))
    if done.num_rows == 0:
        return None
    seconds = (done["time_ns"][0].as_py() - started["time_ns"][0].as_py()) / 1e9
    return float(seconds)


def _receive_time(timeline: Timeline) -> float | None:
    """Return seconds, or None if an object failed or no first byte is known."""
    window, waited_ns = timeline.load_window_ns(), waiting_ns(timeline)
    if window is None or waited_ns is None or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (window[1] - window[0] - waited_ns) / 1e9


def _upload_time(timeline: Timeline) -> float | None:
    """Return seconds from the first request until the server had every body; None if nothing is uploaded, or if an
    object failed.
    """
    sent, done = timeline.select(Kind.REQUEST_SENT), timeline.select(Kind.UPLOAD_DONE)
    if sent.num_rows == 0 or done.num_rows == 0 or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (int(pc.max(done["time_ns"]).as_py()) - int(pc.min(sent["time_ns"]).as_py())) / 1e9


def _throughput(timeline: Timeline) -> float | None:
    """Return body bytes between the first request and the last byte in Mbit/s, with the wait for the connection."""
    sent, done = timeline.select(Kind.REQUEST_SENT), timeline.select(timeline.body_done)
    if sent.num_rows == 0:
        sent, done = timeline.select(Kind.LOAD_STARTED), timeline.select(Kind.LOAD_ENDED)
    if sent.num_rows == 0 or done.num_rows == 0 or done["size_bytes"].null_count:
        return None
    elapsed_ns = pc.max(done["time_ns"]).as_py() - pc.min(sent["time_ns"]).as_py()
    if elapsed_ns <= 0:
        return None
    return float(pc.sum(done["size_bytes"]).as_py() * 8 * 1e3 / elapsed_ns)


def _fallback_time(timeline: Timeline) -> float | None:
    """Return seconds from the first request to the handshake over TCP of the first connection that carried an object.

    None if QUIC carried everything, or if no such handshake was reported.
    """
    window = timeline.load_window_ns()
    flows = timeline.select(Kind.OBJECT_DONE)["flow"].to_pylist()
    carried = {flow for flow in flows if flow is not None and flow.startswith("tcp ")}
    secure = timeline.select(Kind.HANDSHAKE_DONE, Vantage.CLIENT)
    times = [row["time_ns"] for row in secure.select(["time_ns", "flow"]).to_pylist() if row["flow"] in carried]
    return None if window is None or not times else (min(times) - window[0]) / 1e9


def _quic_share(timeline: Timeline) -> float | None:
    """Return the share of the objects that came over QUIC in %; None if nothing arrived or no protocol is known."""
    done = timeline.select(Kind.OBJECT_DONE)
    spoken = done["protocol"].drop_null().to_pylist()
    if not spoken:
        return None
    return 100.0 * sum(find_protocol(name).quic for name in spoken) / len(spoken)


def _early_data_accepted(timeline: Timeline) -> float | None:
    """Return the share of the client's QUIC connections with accepted early data in %; None if no end knows one."""
    done = timeline.select(Kind.HANDSHAKE_DONE)
    done = done.filter(pc.starts_with(done["flow"].cast("string"), "udp "))
    states: dict[str, dict[str, str | None]] = {Vantage.CLIENT: {}, Vantage.SERVER: {}}
    for row in done.select(["flow", "vantage", "name"]).to_pylist():
        states[row["vantage"]][row["flow"]] = row["name"]
    known = [states[Vantage.SERVER].get(flow) or state for flow, state in states[Vantage.CLIENT].items()]
    if not known or None in known:
        return None
    return 100.0 * sum(state == ConnectionState.ZERO_RTT for state in known) / len(known)


_SHARE_OF_LARGEST = 0.5


def _longest_stall(timeline: Timeline) -> float | None:
    """Return seconds; None without a load or without a packet to the client in it."""
    window = timeline.load_window_ns()
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], timeline.data_direction)
    if window is None or packets.num_rows == 0:
        return None
    least = _SHARE_OF_LARGEST * pc.max(packets["size_bytes"]).as_py()
    data = packets.filter(pc.greater_equal(packets["size_bytes"], least))
    times = np.sort(np.concatenate([np.array(window), data["time_ns"].to_numpy()]))
    return float(np.diff(times).max()) / 1e9


METRICS = (
    Metric(
        name="page_load_time",
        label="Page load time",
        unit="s",
        better=Better.LOWER,
        needs=(
            *(Kind.REQUEST_SENT, Kind.OBJECT_DONE, Kind.PAGE_STARTED, Kind.PAGE_LOADED),
            *(Kind.LOAD_STARTED, Kind.LOAD_ENDED),
        ),
        measure=_page_load_time,
        summary="Browser: navigation start to load event. Plain client: first request, issued before the "
        "connection opens, to the last object's last byte. Container image: its first packet to the last with data.",
    ),
    Metric(
        name="time_to_first_byte",
        label="Time to first byte",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.FIRST_BYTE, Kind.PAGE_STARTED, Kind.PAGE_FIRST_BYTE),
        measure=_time_to_first_byte,
        summary="Browser: navigation start to the document's first byte. Plain client: first request, issued "
        "before the connection opens, to the first byte of its answer.",
    ),
    Metric(
        name="handshake_time",
        label="Handshake time",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.CONNECTION_STARTED, Kind.HANDSHAKE_DONE),
        measure=_handshake_time,
        summary="Time at the client from opening the measured connection to its completed handshake: of TCP and "
        "TLS, or of QUIC. With 0-RTT it still ends with the completed handshake, though requests leave "
        "before.",
    ),
    Metric(
        name="receive_time",
        label="Time of receiving",
        unit="s",
        better=Better.LOWER,
        needs=(
            *(Kind.REQUEST_SENT, Kind.FIRST_BYTE, Kind.OBJECT_DONE, Kind.OBJECT_FAILED),
            *(Kind.PAGE_STARTED, Kind.PAGE_FIRST_BYTE, Kind.PAGE_LOADED),
        ),
        measure=_receive_time,
        of_answers=True,
        summary="The load without its time to first byte: from the first byte of the first answer to the end. "
        "The two together are the page load time, as Kakhki et al. split it to compare servers (IMC 2017, fig. 2).",
    ),
    Metric(
        name="throughput",
        label="Throughput",
        unit="Mbit/s",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE, Kind.LOAD_STARTED, Kind.LOAD_ENDED),
        measure=_throughput,
        summary="Body bytes of all objects that arrived, divided by the time from the first request to the last byte. "
        "If the client uploads, bodies count that the server had read, and the time ends with the last.",
    ),
    Metric(
        name="upload_time",
        label="Upload time",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.UPLOAD_DONE, Kind.OBJECT_FAILED),
        measure=_upload_time,
        summary="Time from the first request, issued before the connection opens, until the server had read the whole "
        "body of every upload, by its own word. The page load time ends later, when the client has the answers. "
        "None if nothing is uploaded.",
    ),
    Metric(
        name="fallback_time",
        label="Time to fallback",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.PAGE_STARTED, Kind.HANDSHAKE_DONE, Kind.OBJECT_DONE),
        measure=_fallback_time,
        summary="Time from the load's first request to the completed TLS handshake of the first connection over TCP "
        "that carried an object. None if QUIC carried everything. With HTTP/2 alone it is the handshake's "
        "time.",
    ),
    Metric(
        name="quic_share",
        label="Objects over QUIC",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.OBJECT_DONE,),
        measure=_quic_share,
        summary="Share of the objects that came over QUIC, by the client's word for each. "
        "For a load of one object it is 0 or 100, and its mean over rounds is the share of loads on QUIC.",
    ),
    Metric(
        name="early_data_accepted",
        label="Early data accepted",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.HANDSHAKE_DONE,),
        measure=_early_data_accepted,
        summary="Share of the load's QUIC connections whose early data (0-RTT) the server took, by the server's own "
        "word if it has one, else by the client's: 0 or 100 for a load with one connection. Its mean over "
        "rounds is the rate of successful 0-RTT handshakes. None over TCP, and of programs that do not report "
        "the state of their connections.",
    ),
    Metric(
        name="longest_stall",
        label="Longest stall",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.PACKET_DELIVERED, Kind.REQUEST_SENT, Kind.PAGE_STARTED),
        measure=_longest_stall,
        summary="The longest time within the load in which no packet with data was delivered to the client over any "
        "link: at a handover or a new address, how long the transfer stood still. Packets of at least half "
        "the size of the load's largest count, so that acknowledgements and most probes do not end a stall. "
        "The time until the first such packet counts, too.",
    ),
)
