"""The part of `judge` about settings of the kernel's TCP whose effect the link's log shows. Pure.

A route or a sysctl that was written is no proof: a program, its peer or another setting may stand in the way.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from longlook.core import Outcome, Scalar, find_protocol
from longlook.lab.judge_lines import clock_bound_ns
from longlook.lab.link_log import ACK, CWR, DELIVERED, DOWN, ECE, SYN, UP, LinkLog, TcpSegment, ahead
from longlook.lab.observations import FlowCase, FlowKind, Judgement, Line

_FIRST_RECORDS = 8_000
"""The records at the head of a log: the initial windows and every handshake are in them, and the effect of settings
too.
"""
MEASURED: Mapping[str, str] = {
    "initial_window_packets": "the packets on their way when the server, with more to send, first stops and waits",
    "mss_bytes": "sizes of packets",
    "timestamps": "sizes of packets' options",
    "sack": "if it is off: sizes of acknowledgements' options",
    "ecn": "the client's SYN",
    "receive_buffer_bytes": "no more is on its way, except 64 KiB",
    "send_buffer_bytes": "no more is on its way, except 64 KiB",
}
"""Settings of `Trial.tcp` whose effect packets show → what of them shows it."""
_MORE_THAN_BUFFER_BYTES = 1 << 16
"""The bytes that a sender may have on their way beyond a buffer: the kernel accounts for whole super-packets."""
_LARGEST_BYTES = 1460  # of TCP's payload
_NOTICED_NS = 1_000_000
"""By how much later than it crossed the link a client may notice an answer's first packet, beside the clocks' bound."""
_IP_BYTES, _TCP_BYTES, _TIMESTAMPS_BYTES = 20, 20, 12
_HINTS: Mapping[str, str] = {
    "tcp_initial_window": "the client may offer less: HTTP/2's flow control (knobs initial_stream_window and "
    "initial_connection_window), tcp_receive_buffer; or the server keeps less ready, tcp_send_buffer",
}
_HINT = "a program may set its own sockets: see its knobs; or the other end does not agree"


def settings(case: FlowCase) -> Judgement | None:
    """Check that what the trial sets of the kernel's TCP is what the link saw, as far as it can be seen there."""
    if case.log is None or MEASURED.keys().isdisjoint(case.tcp) or case.tcp.get("multipath"):
        return None
    for segments in case.log.tcp_connections(_FIRST_RECORDS):
        found = (*_of_packets(case.tcp, segments), *_of_window(case, segments), *_of_buffers(case, segments))
        for setting, seen in found:
            value = case.tcp[_PARAMETERS.get(setting, setting.removeprefix("tcp_"))]
            text = str(value).lower() if isinstance(value, bool) else str(value)
            reason = f"{setting} = {text} was not brought about: {seen}"
            return Judgement(Outcome.FAILED, reason, _HINTS.get(setting, _HINT), complete=True)
    return None


_PARAMETERS: Mapping[str, str] = {
    "tcp_initial_window": "initial_window_packets",
    "tcp_mss": "mss_bytes",
    "tcp_receive_buffer": "receive_buffer_bytes",
    "tcp_send_buffer": "send_buffer_bytes",
}
"""Setting → its name in `Trial.tcp`, if that name differs."""


def _of_packets(tcp: Mapping[str, Scalar], segments: Sequence[TcpSegment]) -> Iterator[tuple[str, str]]:
    """Yield each setting that a single packet contradicts, and what it shows."""
    data = [each for each in segments if each.payload_bytes]
    options = [each.size_bytes - each.payload_bytes - _IP_BYTES - _TCP_BYTES for each in data]
    if "mss_bytes" in tcp and data:
        largest = max(each.size_bytes for each in data) - _IP_BYTES - _TCP_BYTES
        if largest > int(tcp["mss_bytes"]):
            yield "tcp_mss", f"a packet has {largest} bytes of payload and options"
    if "timestamps" in tcp and data and (min(options) >= _TIMESTAMPS_BYTES) is not bool(tcp["timestamps"]):
        yield "tcp_timestamps", f"packets with data have {min(options)} bytes of options"
    if tcp.get("sack") is False:
        plain = _TIMESTAMPS_BYTES if tcp.get("timestamps", True) else 0
        bare = [each for each in segments if not each.payload_bytes and each.tcp_flags & (ACK | SYN) == ACK]
        most = max((each.size_bytes - _IP_BYTES - _TCP_BYTES for each in bare), default=0)
        if most > plain:
            yield "tcp_sack", f"an acknowledgement has {most} bytes of options"
    asked = next((each.tcp_flags for each in segments if each.direction == UP and each.tcp_flags & SYN), None)
    if "ecn" in tcp and asked is not None and (asked & (ECE | CWR) == ECE | CWR) is not bool(tcp["ecn"]):
        yield "tcp_ecn", f"the client's SYN {'asks' if asked & ECE else 'does not ask'} for it"


def _of_buffers(case: FlowCase, segments: Sequence[TcpSegment]) -> Iterator[tuple[str, str]]:
    """Yield each buffer that is smaller than what the server had on its way at some time, at the least: what the link
    had seen of its data, without what it had seen acknowledged.
    """
    if case.trial.proxy is not None or {"receive_buffer_bytes", "send_buffer_bytes"}.isdisjoint(case.tcp):
        return
    highest: int | None = None
    acknowledged: int | None = None
    most_bytes = 0
    for each in segments:
        if each.direction == DOWN and each.payload_bytes:
            end = each.transport_sequence + each.payload_bytes
            acknowledged = each.transport_sequence if acknowledged is None else acknowledged
            highest = end if highest is None or ahead(end, highest) > 0 else highest
            most_bytes = max(most_bytes, ahead(highest, acknowledged))
        elif each.direction == UP and each.tcp_flags & ACK:
            acknowledged = each.acknowledgement
    for setting in ("tcp_receive_buffer", "tcp_send_buffer"):
        size_bytes = case.tcp.get(_PARAMETERS[setting])
        if size_bytes is not None and most_bytes > int(size_bytes) + _MORE_THAN_BUFFER_BYTES:
            yield setting, f"{most_bytes} bytes were on their way"


@dataclass
class _Sender:
    """The packets that the server has on their way, as the link sees them."""

    ends: deque[tuple[int, int]]  # of each packet without an acknowledgement: sequence number behind it, when it came
    highest: int | None = None
    acknowledged: int = 0

    def sends(self, segment: TcpSegment) -> bool:
        """Take a packet with data; return False if it repeats what came before."""
        end = segment.transport_sequence + segment.payload_bytes
        if self.highest is not None and ahead(end, self.highest) <= 0:
            return False
        self.highest = end
        self.ends.append((end, segment.arrival_ns))
        return True

    def hears(self, acknowledgement: int) -> None:
        """Take away what is acknowledged."""
        while self.ends and ahead(acknowledgement, self.ends[0][0]) >= 0:
            self.ends.popleft()
            self.acknowledged += 1


def _of_window(case: FlowCase, segments: Sequence[TcpSegment]) -> Iterator[tuple[str, str]]:
    """Yield the initial window if the server, with more to send, stopped before it was full, or went on beyond."""
    if "initial_window_packets" not in case.tcp or case.kind is not FlowKind.FINITE or case.trial.proxy is not None:
        return
    if case.log is None:
        return
    asked = _asked(case, segments[0].client_port)
    wanted = int(case.tcp["initial_window_packets"])
    if not asked or _repeated_openings(segments) or _buffers_rule(case.tcp, wanted):
        return
    flight = _flight(_on_clock_of(case.log, asked), segments, max(_NOTICED_NS, clock_bound_ns(case)))
    if flight is None:
        return
    packets, before = flight
    if packets < wanted:
        yield "tcp_initial_window", f"the server sent {packets} packets of more, and waited for the client"
    elif packets > wanted + before + 1:
        yield "tcp_initial_window", f"the server sent {packets} packets at once, though {before} were acknowledged"


def _asked(case: FlowCase, port: int) -> list[Line]:
    """Return the client's lines of the answers that came over the connection from this port."""
    arrived = [line for line in case.client.events("object") if line.get("error") is None]
    if all(line.get("local") is None for line in arrived):
        alone = case.connections == 1 and not find_protocol(case.trial.protocol).connection_per_request
        return arrived if alone else []
    return [line for line in arrived if str(line.get("local")).rpartition(":")[2] == str(port)]


def _buffers_rule(tcp: Mapping[str, Scalar], packets: int) -> bool:
    """Return whether a buffer that the trial sets cannot hold a window of that number of packets, with Linux's
    bookkeeping.
    """
    buffers = [int(tcp[name]) for name in ("receive_buffer_bytes", "send_buffer_bytes") if name in tcp]
    return any(size_bytes < 2 * packets * _LARGEST_BYTES for size_bytes in buffers)


def _on_clock_of(log: LinkLog, asked: Sequence[Line]) -> list[Line]:
    """Return lines of objects with their times on the clock of the link's log."""
    names = ("t_start_ns", "t_first_byte_ns")
    return [
        {**line, **{name: log.monotonic_ns(line[name]) for name in names if line.get(name) is not None}}
        for line in asked
    ]


def _repeated_openings(segments: Sequence[TcpSegment]) -> bool:
    """Return whether a SYN was sent again, after which Linux begins with a window of one packet."""
    openings = [each.direction for each in segments if each.tcp_flags & SYN and not each.copy]
    return len(openings) != len(set(openings))


def _flight(asked: Sequence[Line], segments: Sequence[TcpSegment], bound_ns: int) -> tuple[int, int] | None:
    """Return how many packets the server had on their way when it first stopped with more to send, and how many had
    been acknowledged by then. Return None if it never stopped, or if a loss or a mark came first.
    """
    firsts = [line["t_first_byte_ns"] for line in asked if line.get("t_first_byte_ns") is not None]
    if not firsts:
        return None
    sender, sent, last_ns = _Sender(deque()), 0, 0
    answering_ns: int | None = None
    two_packets_bytes = 2 * max(each.payload_bytes for each in segments)
    for time_ns, segment in sorted(_as_the_server_sees(segments), key=lambda pair: pair[0]):
        if segment.direction == DOWN:
            if not segment.payload_bytes or segment.copy:
                continue
            if not sender.sends(segment):
                return None
            if answering_ns is None and segment.departure_ns >= min(firsts) - bound_ns:
                answering_ns = segment.arrival_ns
            sent, last_ns = sent + (segment.payload_bytes if answering_ns is not None else 0), time_ns
            continue
        if segment.tcp_flags & (ECE | SYN) == ECE:
            return None
        packets, before = len(sender.ends), sender.acknowledged
        began_ns = sender.ends[0][1] if sender.ends else 0
        sender.hears(segment.acknowledgement)
        if answering_ns is None or sender.acknowledged == before:
            continue
        left = sum(line["bytes"] for line in asked if line["t_start_ns"] <= began_ns) - sent
        if left > two_packets_bytes:
            waited_ns, took_ns = time_ns - last_ns, time_ns - began_ns
            return (packets, before) if 2 * waited_ns >= took_ns else None
    return None


def _as_the_server_sees(segments: Sequence[TcpSegment]) -> Iterator[tuple[int, TcpSegment]]:
    """Yield the server's packets when they come to the link, and the client's when they have crossed it."""
    for each in segments:
        if each.direction == DOWN:
            yield each.arrival_ns, each
        elif each.verdict == DELIVERED:
            yield each.departure_ns, each
