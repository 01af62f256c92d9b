"""Where flow control of HTTP/2 stopped a sender over TCP. Pure.

Its frames are encrypted, so it is known by what is in flight: a sender that stops with as much as the client's windows
allow has no more credit. A client may open its windows again only once half of them has arrived, so that half of one
can be acknowledged by TCP and not yet be open again.
"""

import numpy as np

from longlook.explain.facts.columns import NEVER, Booleans, Integers
from longlook.explain.ledger.classes import LedgerClass
from longlook.explain.ledger.load import Load
from longlook.explain.ledger.tcp_flight import TcpFlight

_OVERHEAD = 16
"""Headers of frames and TLS records, which flow control does not count, add at most one part in so many."""


def http2_credit(
    load: Load, flow: str, stopped_ns: Integers, flight: TcpFlight, segment: int
) -> dict[LedgerClass, Booleans]:
    """Return where a connection's sender had used up what its client offers, for moments at which it stopped sending.

    Of the windows of all streams with an answer under way and the connection's, the smaller one holds. Empty where the
    client's windows are not known. `segment` is the usual payload of a packet in bytes.
    """
    windows = load.http2.get(flow)
    if windows is None or (windows.stream_bytes is None and windows.connection_bytes is None):
        return {}
    in_flight = flight.bytes(stopped_ns)
    streams = _under_way(load, stopped_ns)
    of_stream = NEVER if windows.stream_bytes is None else windows.stream_bytes
    connection = NEVER if windows.connection_bytes is None else windows.connection_bytes
    by_stream = of_stream <= connection // streams

    def used_up(least: int, most: Integers) -> Booleans:
        room = most // _OVERHEAD + 2 * segment
        found: Booleans = (in_flight >= least // 2 - 2 * segment) & (in_flight - room <= most) & (in_flight > 0)
        return found

    return {
        LedgerClass.HTTP2_STREAM_CREDIT: by_stream & used_up(of_stream, np.where(by_stream, streams * of_stream, 0)),
        LedgerClass.HTTP2_CONNECTION_CREDIT: ~by_stream & used_up(connection, np.full(len(streams), connection)),
    }


def _under_way(load: Load, times_ns: Integers) -> Integers:
    """Return how many answers had begun to leave the server and not arrived whole at each time, at least one."""
    begun = np.searchsorted(np.sort(load.objects.answered_ns), times_ns, side="right")
    ended = np.searchsorted(np.sort(load.objects.done_ns), times_ns, side="right")
    return np.asarray(np.maximum(1, begun - ended), np.int64)
