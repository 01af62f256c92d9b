"""Measures a sender by the packets at the link. Pure; times in seconds, sizes in bytes of transport payload.

Functions return None if there is nothing to measure, never zero instead.
"""

import numpy as np

from longlook.instruments.conformance.evidence import RouterPackets

LARGE_BYTES = 600
"""Larger packets carry data; packets with ACKs, settings and requests are smaller."""

_NEAR = 500
"""Packets behind one that may have overtaken it."""

_TURNS_UNTIL_RECOVERED = 2.1
"""Round trips from a loss until the sender has detected it and its flight has fallen to the new window."""

_FLIGHT = 0.9
"""Share of a round trip: before its end no answer to the first packet can have come back."""


def data_begins_s(packets: RouterPackets) -> float | None:
    """Return when the server sent its first large packet after the handshake."""
    data = _data(packets)
    return float(data.sent_s[0]) if len(data) else None


def first_flight(packets: RouterPackets, rtt_s: float) -> tuple[int, int]:
    """Return how many large packets, and how many bytes, the server sent before its first data can be acknowledged."""
    begin = data_begins_s(packets)
    if begin is None:
        return 0, 0
    server = packets.of("server")
    flight = server.chosen((server.sent_s >= begin) & (server.sent_s < begin + _FLIGHT * rtt_s))
    return int((flight.payload_bytes > LARGE_BYTES).sum()), int(flight.payload_bytes.sum())


def largest(packets: RouterPackets, sender: str) -> int | None:
    """Return the largest payload that an endpoint sent."""
    own = packets.of(sender)
    return int(own.payload_bytes.max()) if len(own) else None


def second_sending_s(packets: RouterPackets, sender: str, pause_s: float = 0.005) -> float | None:
    """Return the time from an endpoint's first packet to the first one behind a pause.

    If nothing comes back, that is its first retransmission.
    """
    sent_s = packets.of(sender).sent_s
    pauses = np.flatnonzero(np.diff(sent_s) > pause_s)
    return float(sent_s[pauses[0] + 1] - sent_s[0]) if len(pauses) else None


def most_in(packets: RouterPackets, window_s: float) -> int | None:
    """Return the most bytes that reached the client within any interval of the length `window_s`."""
    server = packets.of("server")
    arrived = server.chosen(~np.isnan(server.left_s))
    if not len(arrived):
        return None
    order = np.argsort(arrived.left_s, kind="stable")
    left_s, total = arrived.left_s[order], np.concatenate([[0], np.cumsum(arrived.payload_bytes[order])])
    ends = np.searchsorted(left_s, left_s + window_s, side="right")
    return int((total[ends] - total[:-1]).max())


def sent_in_turn(packets: RouterPackets, rtt_s: float, turn: int) -> int:
    """Return how many bytes the server sends in a round trip, counted from 1, of its data."""
    begin = data_begins_s(packets)
    if begin is None:
        return 0
    data = _data(packets)
    turns = (data.sent_s - begin) / rtt_s
    return int(data.payload_bytes[(turns >= turn - 1) & (turns < turn)].sum())


def sending_s(packets: RouterPackets) -> float:
    """Return the time from the server's first large packet after the handshake to its last."""
    sent_s = _data(packets).sent_s
    return float(sent_s[-1] - sent_s[0]) if len(sent_s) else 0.0


def acks_per_packet(packets: RouterPackets) -> float | None:
    """Return how many packets the client sends for each large one that the server sends, after the first of these."""
    begin = data_begins_s(packets)
    if begin is None:
        return None
    client = packets.of("client")
    return float((client.sent_s > begin).sum()) / len(_data(packets))


def spread(packets: RouterPackets, rtt_s: float, parts: int = 20) -> float | None:
    """Return the share of the parts of a round trip in which the server sends, in the second to fourth round trip."""
    begin = data_begins_s(packets)
    if begin is None:
        return None
    sent_s = _data(packets).sent_s - begin
    inside = sent_s[(sent_s >= rtt_s) & (sent_s < 4 * rtt_s)]
    if not len(inside):
        return None
    return len(np.unique((inside / (rtt_s / parts)).astype(np.int64))) / (3 * parts)


def longest_train(packets: RouterPackets, gap_s: float) -> int:
    """Return how many large packets the server sends with less than a gap between each and the next, at most."""
    gaps = np.flatnonzero(np.diff(_data(packets).sent_s, prepend=-np.inf, append=np.inf) >= gap_s)
    return int(np.diff(gaps).max(initial=0))


def window_after_loss(packets: RouterPackets, rtt_s: float, path_bytes: float, later_turns: int = 0) -> float | None:
    """Return the share of the window that the last loss leaves: bytes sent in a round trip after it over those before.

    Consecutive lost packets are one loss. At most `path_bytes`, which the path carries in a round trip, count as
    before: the rest stood in a queue.

    The packets of the round trip after the first lost one are in flight when the loss is detected. The next round trip
    is recovery, in which sending waits for the flight to fall; the one behind it is counted, or one `later_turns`
    round trips later.
    """
    server = packets.of("server")
    lost = np.flatnonzero(np.isnan(server.left_s))
    if not len(lost):
        return None
    first = lost[np.flatnonzero(np.diff(lost, prepend=-np.inf) > 1)[-1]]
    since_s = server.sent_s - server.sent_s[first]
    before, after = (
        int(server.payload_bytes[(since_s > turns * rtt_s) & (since_s <= (turns + 1) * rtt_s)].sum())
        for turns in (0, _TURNS_UNTIL_RECOVERED + later_turns)
    )
    return after / min(before, path_bytes) if before else None


def sent_after_outage(packets: RouterPackets, rtt_s: float) -> int:
    """Return how many large packets the server sends in the second round trip behind the longest time in which none of
    them passed.
    """
    data = _data(packets)
    passed_s = data.sent_s[~np.isnan(data.left_s)]
    if len(passed_s) < 2:
        return 0
    first_s = passed_s[np.diff(passed_s).argmax() + 1]
    turns = (data.sent_s - first_s) / rtt_s
    return int(((turns >= 1) & (turns < 2)).sum())


def overtaken(packets: RouterPackets, by: int = 3) -> int:
    """Return how many of the server's packets were overtaken by at least `by` later ones."""
    server = packets.of("server")
    left_s = server.left_s[~np.isnan(server.left_s)]
    return sum(int((left_s[at + 1 : at + _NEAR] < left_s[at]).sum()) >= by for at in range(len(left_s)))


def data_packets(packets: RouterPackets) -> int:
    """Return how many large packets the server sent after the handshake."""
    return len(_data(packets))


def ecn_share(packets: RouterPackets, sender: str) -> float | None:
    """Return the share of an endpoint's packets that carry an ECN codepoint."""
    own = packets.of(sender)
    return float((own.ecn > 0).mean()) if len(own) else None


def _data(packets: RouterPackets) -> RouterPackets:
    server = packets.of("server")
    return server.chosen(server.short & (server.payload_bytes > LARGE_BYTES))
