"""Causes: the credit of receivers, which limits streams, windows and buffers, and keeps a sender from sending."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from longlook.core import LARGEST_HTTP2_WINDOW, Scalar, units
from longlook.explain import (
    MOST_EVIDENCE,
    Cause,
    Change,
    Evidence,
    Finding,
    FirstCredits,
    Http2Windows,
    Integers,
    Intervention,
    LedgerClass,
    Pair,
    Proposal,
    Side,
    Sign,
    Target,
    Touches,
    Untestable,
    bdp_bytes,
    changes,
    configured_buffer_bytes,
    during,
    effective_value,
    setting_bytes,
    stretches,
    stretches_shown,
)

LARGER = (2, 4, 8)
"""By which factors credits are raised: the last one cures, the others are doses."""


_NO_LIMIT_BYTES = 64 << 20
_UNUSED = 0.8
"""A window that is never used beyond this share is not what limits the sender."""


@dataclass(frozen=True)
class Credit:
    """A limit that a sender met: when, in ns, and the window that the receiver had open; None: no log says."""

    time_ns: Integers
    window_bytes: int | None


def credit_met(side: Side, *names: str) -> Credit:
    """Return when the server met some limits of the client in the load, and the window that it had.

    QUIC's limits are offsets, of which the first is the window that the receiver began with. TCP's are windows. If no
    log has a limit that was met, the window is the client's first window, and the ledger has the times.
    """
    for sender in (side.server, side.client):
        if sender is None:
            continue
        own = sender.blocked.named(*names) & during(side, sender.blocked.time_ns)
        if own.any():
            times, limits = sender.blocked.time_ns[own], sender.blocked.value[own]
            known = ~np.isnan(limits)
            if not known.any():
                return Credit(times, None)
            if sender.source == "tcp":
                return Credit(times, int(limits[known].max()))
            return Credit(times, _window(side, times[known], limits[known]))
    return Credit(np.zeros(0, np.int64), _begun_with(side, names))


def _begun_with(side: Side, names: tuple[str, ...]) -> int | None:
    """Return the window that the client of a QUIC trial began with, for stacks that do not log that they met it."""
    if not changes.over_quic(side.trial):
        return None
    first = FirstCredits.of(side.trial, side.server, () if side.client is None else (side.client,))
    return {"stream": first.stream_bytes, "connection": first.connection_bytes}.get(names[0])


def most_in_flight(side: Side) -> int | None:
    """Return the most bytes that the server had in flight, if its congestion window would have allowed a quarter more
    throughout. None if it filled its window or its log does not tell.
    """
    sender = side.server
    if sender is None or sender.in_flight is None or sender.window is None:
        return None
    own = during(side, sender.in_flight.time_ns)
    times, values = sender.in_flight.time_ns[own], sender.in_flight.value[own]
    if len(times) == 0:
        return None
    most = int(values.max())
    return most if 0 < most < _UNUSED * int(sender.window.at(times, 0).max()) else None


def _window(side: Side, times_ns: Integers, limits: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> int:
    """Return the usual window: a limit less what the client had when it sent it, in the median.

    A sender that met a limit goes on when the next one reaches it, so that the client sent that one half a round trip
    before the first packet that follows.
    """
    link = side.down
    sent = np.sort(link.arrival_ns[link.ours & link.carries_data])
    resumed = np.searchsorted(sent, times_ns[:-1], side="right")
    updated_ns = np.append(sent, np.iinfo(np.int64).max)[resumed] - side.up.delay_ns
    own = np.flatnonzero(link.ours & link.delivered & ~link.handshake)
    own = own[np.argsort(link.departure_ns[own], kind="stable")]
    sums = np.concatenate([[0], np.cumsum(link.useful_bytes[own])])
    delivered = sums[np.searchsorted(link.departure_ns[own], updated_ns, side="right")]
    windows = np.concatenate([limits[:1], limits[1:] - delivered])
    return int(max(limits.min(), np.median(windows)))


def larger_windows(
    finding: Finding,
    pair: Pair,
    offered: Callable[[Side, int, int], Change | str],
    own: Callable[[Side], tuple[int | None, int]],
) -> list[Proposal]:
    """Return larger windows for the loser's client, the largest as cure, and the loser's window for the winner's.

    `offered` gives the change by which a side's client offers a window at first, and one that it may grow to, in bytes,
    or why there is none. `own` gives the window that the loser's client is set to, None if no setting says it, and what
    it may grow to. A cure is larger than that, and than the window that was open when the sender met it.
    """
    if finding.dose is None:
        return [changes.cure(Touches.MECHANISM, Target.LOSER, "no log says how large the window was")]
    met, (given, grows_to) = int(finding.dose), own(pair.loser)
    larger = [(float(factor), offered(pair.loser, factor * met, factor * max(met, grows_to))) for factor in LARGER]
    back = met if given is None else given
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, larger[-1][1]),
        changes.transplant(Touches.MECHANISM, offered(pair.winner, back, back)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, larger),
    ]


def quic_window(side: Side, kind: str) -> tuple[int | None, int]:
    """Return the largest window of a stream or the connection that a client of QUIC is set to, and what it grows to.

    The first is None if no setting bounds it. The second is the value that its stack declares. If that is not known, it
    is more than any stack here offers by default.
    """
    knobs = side.trial.client.knobs
    found = [knobs.get(f"{name}_{kind}_window") for name in ("max", "initial")]
    known = effective_value(side, "client", f"max_{kind}_window")
    given = next((value for value in found if isinstance(value, int)), None)
    return given, _NO_LIMIT_BYTES if known is None else int(known)


def window_knobs(kind: str, first_bytes: int, most_bytes: int) -> dict[str, Scalar]:
    """Return a client's knobs for a window of a stream or of the connection: at first, and at most."""
    return {f"initial_{kind}_window": first_bytes, f"max_{kind}_window": most_bytes}


def http2_sign(pair: Pair, ledger_class: LedgerClass, what: str) -> Sign | None:
    """Return the sign that the loser waits longer for HTTP/2's credit: of a `stream`, or of the `connection`.

    None if the window is two bandwidth-delay products or more: it suffices, and the client takes its time to read.
    """
    more_ns, side = pair.excess_ns(ledger_class), pair.loser
    product, window_bytes = bdp_bytes(side), _http2_window(side, what)
    if more_ns <= 0 or (product and window_bytes is not None and window_bytes >= 2 * product):
        return None
    found = stretches(side, ledger_class)
    shown = stretches_shown(side, found, f"HTTP/2's credit for the {what} is used up")
    if window_bytes is None:
        return Sign(more_ns, shown)
    first = Evidence(int(found.begin_ns[0]) - side.start_ns, f"a window of {window_bytes} bytes is used up")
    return Sign(more_ns, (first, *shown), dose=float(window_bytes))


def http2_widened(finding: Finding, pair: Pair, what: str) -> list[Proposal]:
    """Return larger windows of HTTP/2 for the loser's client, the largest as cure, the loser's window for the winner's,
    and doses on both sides of the loser's own, in bytes.
    """
    if finding.dose is None:
        reason = f"the client does not report its window of HTTP/2 for the {what}"
        return [changes.cure(Touches.MECHANISM, Target.LOSER, reason)]
    own = int(finding.dose)

    def offered(side: Side, window_bytes: int) -> Change | str:
        label = f"an HTTP/2 window of {window_bytes} bytes for the {what}"
        return changes.knob(side.trial, "client", f"http2_{what}_window", window_bytes, label)

    larger = sorted({min(factor * own, LARGEST_HTTP2_WINDOW) for factor in LARGER})
    cure = larger[-1]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, offered(pair.loser, cure), float(cure)),
        changes.transplant(Touches.MECHANISM, offered(pair.winner, own)),
        *changes.doses(
            Touches.MECHANISM,
            Target.LOSER,
            [(float(each), offered(pair.loser, each)) for each in (max(1, own // 2), *larger[:-1])],
        ),
    ]


def _http2_window(side: Side, what: str) -> int | None:
    if side.server is None:
        return None
    windows = Http2Windows.of(side.timeline, side.trial, side.server.flow)
    return windows.stream_bytes if what == "stream" else windows.connection_bytes


_STREAM_CREDIT_CLASSES = (LedgerClass.STREAM_CREDIT,)


def stream_credit_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server waits longer for credit of a stream, whose window is below two
    bandwidth-delay products.

    With more than that the window suffices, and its updates are late (`late_credit`).
    """
    more_ns, side = pair.excess_ns(*_STREAM_CREDIT_CLASSES), pair.loser
    product, found = bdp_bytes(side), credit_met(side, "stream")
    if more_ns <= 0 or (product and found.window_bytes is not None and found.window_bytes >= 2 * product):
        return None
    shown = (
        *(
            Evidence(int(time_ns) - side.start_ns, f"a window of {found.window_bytes} bytes ends")
            for time_ns in found.time_ns[:1]
        ),
        *stretches_shown(side, stretches(side, *_STREAM_CREDIT_CLASSES), "the credit for a stream is used up"),
    )
    return Sign(more_ns, shown, dose=None if found.window_bytes is None else float(found.window_bytes))


def stream_credit_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client, and the loser's window for the winner's."""
    return larger_windows(finding, pair, _stream_credit_offered, lambda side: quic_window(side, "stream"))


def _stream_credit_offered(side: Side, first_bytes: int, most_bytes: int) -> Change | str:
    knobs = window_knobs("stream", first_bytes, most_bytes)
    return changes.tuned(side.trial, "client", knobs, {}, f"a stream window of {first_bytes} bytes")


STREAM_CREDIT = Cause(
    name="stream_credit",
    title="Small stream window",
    sentence="its client's credit for a stream is used up before more of it arrives",
    source="RFC 9000, 4.1; curl#20030",
    role="client",
    classes=_STREAM_CREDIT_CLASSES,
    needs=("metrics",),
    detect=stream_credit_sign,
    interventions=stream_credit_changes,
    cured_by="a stream window eight times as large",
)
"""The client's credit for a stream is smaller than what the path holds."""


_CONNECTION_CREDIT_CLASSES = (LedgerClass.CONNECTION_CREDIT,)
_OF_TCP = (*_CONNECTION_CREDIT_CLASSES, LedgerClass.PACING, LedgerClass.UNEXPLAINED)
"""The kernel counts this wait, but says only when it begins: the ledger has the rest in these classes."""
_BUFFERS_PER_WINDOW = 2
"""Linux offers about half of a receive buffer as window, as the rest is for the packets' own memory."""
_LEAST_BUFFER, _MOST_BUFFER = 4096, 1 << 30


def connection_credit_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server waits longer for credit of the connection, whose window is
    below two bandwidth-delay products.

    With more than that the window suffices, and its updates are late (`late_credit`).
    """
    side = pair.loser
    more_ns = pair.excess_ns(*(_CONNECTION_CREDIT_CLASSES if changes.over_quic(side.trial) else _OF_TCP))
    product, found = bdp_bytes(side), credit_met(side, "connection", "receive_window")
    if more_ns <= 0 or (len(found.time_ns) == 0 and not changes.over_quic(side.trial)):
        return None
    if product and found.window_bytes is not None and found.window_bytes >= 2 * product:
        return None
    ends = f"a window of {found.window_bytes} bytes ends"
    first = [Evidence(int(time_ns) - side.start_ns, ends) for time_ns in found.time_ns[:1]]
    shown = (
        *first,
        *stretches_shown(
            side, stretches(side, *_CONNECTION_CREDIT_CLASSES), "the credit for the connection is used up"
        ),
    )
    return Sign(more_ns, shown, dose=None if found.window_bytes is None else float(found.window_bytes))


def connection_credit_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client, and the loser's window for the winner's."""
    return larger_windows(finding, pair, _connection_credit_offered, _own)


def _own(side: Side) -> tuple[int | None, int]:
    """Return the window that a side's client is set to, None if none bounds it, and the window that it may grow to."""
    if changes.over_quic(side.trial):
        return quic_window(side, "connection")
    buffer_bytes = setting_bytes(side.trial, "tcp_receive_buffer") or _MOST_BUFFER
    return None, buffer_bytes // _BUFFERS_PER_WINDOW


def _buffer_for(window_bytes: int) -> int:
    return min(max(_BUFFERS_PER_WINDOW * window_bytes, _LEAST_BUFFER), _MOST_BUFFER)


def _connection_credit_offered(side: Side, first_bytes: int, most_bytes: int) -> Change | str:
    buffer_bytes = _buffer_for(most_bytes)
    buffers = {"tcp_receive_buffer": units.print_size(buffer_bytes)}
    window = first_bytes if changes.over_quic(side.trial) else most_bytes
    knobs, label = window_knobs("connection", first_bytes, most_bytes), f"a window of {window} bytes for the connection"
    return changes.tuned(side.trial, "client", knobs, buffers, label)


CONNECTION_CREDIT = Cause(
    name="connection_credit",
    title="Small connection window",
    sentence="its client's credit for the connection is used up before more of it arrives",
    source="RFC 9000, 4.1; RFC 9293, 3.8.6; quiche#1400",
    role="client",
    classes=_CONNECTION_CREDIT_CLASSES,
    needs=("metrics",),
    detect=connection_credit_sign,
    interventions=connection_credit_changes,
    cured_by="a connection window, or receive buffer, eight times as large",
)
"""The client's credit for the connection, over TCP its receive window, is smaller than what the path holds."""


_LATE_CREDIT_CLASSES = (LedgerClass.STREAM_CREDIT, LedgerClass.CONNECTION_CREDIT)


def late_credit_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server waits for credit though the window is two bandwidth-delay
    products or more.
    """
    more_ns, side = pair.excess_ns(*_LATE_CREDIT_CLASSES), pair.loser
    product = bdp_bytes(side)
    known = [
        window
        for names in (("stream",), ("connection", "receive_window"))
        if (window := credit_met(side, *names).window_bytes) is not None
    ]
    if more_ns <= 0 or not product or not known or min(known) < 2 * product:
        return None
    shown = stretches_shown(
        side, stretches(side, *_LATE_CREDIT_CLASSES), "credit is used up that would fill the path twice"
    )
    return Sign(more_ns, shown, dose=float(min(known)))


def late_credit_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return larger windows for the loser's client, which late updates exhaust later."""
    met = int(finding.dose or 0)
    grows_to = max(quic_window(pair.loser, kind)[1] for kind in ("stream", "connection"))
    larger = [
        (float(factor), _late_credit_offered(pair.loser, factor * met, factor * max(met, grows_to)))
        for factor in LARGER
    ]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, larger[-1][1]),
        *changes.doses(Touches.MECHANISM, Target.LOSER, larger),
    ]


def _late_credit_offered(side: Side, first_bytes: int, most_bytes: int) -> Change | str:
    knobs = window_knobs("stream", first_bytes, most_bytes) | window_knobs("connection", first_bytes, most_bytes)
    return changes.tuned(side.trial, "client", knobs, {}, f"windows of {first_bytes} bytes")


LATE_CREDIT = Cause(
    name="late_credit",
    title="Late updates of credit",
    sentence="its client's window of {size} would suffice, but is opened again too late",
    source="base-drafts#3793; RFC 9000, 4.2",
    role="client",
    classes=_LATE_CREDIT_CLASSES,
    needs=("metrics",),
    detect=late_credit_sign,
    interventions=late_credit_changes,
    cured_by="windows eight times as large",
)
"""The client's windows are large enough, and it opens them so late that the sender waits."""


def http2_stream_window_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server waits longer for HTTP/2's credit of a stream, whose window is below two
    bandwidth-delay products.

    With more than that the window suffices, and the client reads late (`slow_reader`).
    """
    return http2_sign(pair, LedgerClass.HTTP2_STREAM_CREDIT, "stream")


def http2_stream_window_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client and half of its own, and the loser's window for
    the winner's.
    """
    return http2_widened(finding, pair, "stream")


HTTP2_STREAM_WINDOW = Cause(
    name="http2_stream_window",
    title="Small HTTP/2 stream window",
    sentence="its client's HTTP/2 window of {size} for each stream is used up before more of it arrives",
    source="RFC 9113, 6.9; linera-protocol#6822; golang/go#47840; dotnet/runtime#43086",
    role="client",
    classes=(LedgerClass.HTTP2_STREAM_CREDIT,),
    needs=("metrics",),
    detect=http2_stream_window_sign,
    interventions=http2_stream_window_changes,
    cured_by="an HTTP/2 window eight times as large",
)
"""HTTP/2's window of a stream is smaller than what the path holds."""


def http2_connection_window_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's server waits longer for HTTP/2's credit of the connection, whose window is below
    two bandwidth-delay products.

    With more than that the window suffices, and the client reads late (`slow_reader`).
    """
    return http2_sign(pair, LedgerClass.HTTP2_CONNECTION_CREDIT, "connection")


def http2_connection_window_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client and half of its own, and the loser's window for
    the winner's.
    """
    return http2_widened(finding, pair, "connection")


HTTP2_CONNECTION_WINDOW = Cause(
    name="http2_connection_window",
    title="Small HTTP/2 connection window",
    sentence="its client's HTTP/2 window of {size} for the connection is used up before more of it arrives",
    source="RFC 9113, 6.9; curl#1102; mint#481",
    role="client",
    classes=(LedgerClass.HTTP2_CONNECTION_CREDIT,),
    needs=("metrics",),
    detect=http2_connection_window_sign,
    interventions=http2_connection_window_changes,
    cured_by="an HTTP/2 window eight times as large",
)
"""HTTP/2's window of the connection is smaller than what the path holds."""


_STREAM_IDS_CLASSES = (
    LedgerClass.STREAM_IDS,
    LedgerClass.REQUEST,
    LedgerClass.SERVER_THINK,
    LedgerClass.APPLICATION,
    LedgerClass.CLIENT_IDLE,
)
"""While a request waits for a stream, the server has nothing to do for it, whatever it does for others."""
_LIMITS = ("streams_bidi", "streams_uni")


def stream_ids_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's client met its limit of streams, and its requests wait for longer."""
    side, client = pair.loser, pair.loser.client
    if client is None:
        return None
    met = np.flatnonzero(
        client.blocked.named(*_LIMITS) & during(side, client.blocked.time_ns) & ~np.isnan(client.blocked.value)
    )
    if len(met) == 0:
        return None
    shown = tuple(
        Evidence(int(client.blocked.time_ns[place]) - side.start_ns, _met(client.blocked.value[place]))
        for place in met[:MOST_EVIDENCE]
    )
    return Sign(pair.excess_ns(*_STREAM_IDS_CLASSES), shown, dose=float(client.blocked.value[met[0]]))


def _met(limit: float) -> str:
    return f"no stream is left of {limit:.0f} for the next request"


def stream_ids_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return limits up to eight times as large for the loser's server, and the loser's limit for the winner's."""
    own = max(1, int(finding.dose or 1))
    most = max(own, int(effective_value(pair.loser, "server", "max_incoming_streams") or 0))
    larger = [(float(factor), _allowed(pair.loser, factor * most)) for factor in LARGER]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, larger[-1][1]),
        changes.transplant(Touches.MECHANISM, _allowed(pair.winner, own)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, larger),
    ]


def _allowed(side: Side, count: int) -> Change | str:
    label = f"{count} requests allowed at once"
    return changes.knob(side.trial, "server", "max_incoming_streams", count, label)


STREAM_IDS = Cause(
    name="stream_ids",
    title="Few streams allowed",
    sentence="too few of its requests ({dose:.0f} at first) may be under way at once",
    source="Kakhki et al., IMC 2017, 4.1 (MSPC); RFC 9000, 4.6",
    role="server",
    classes=_STREAM_IDS_CLASSES,
    needs=("blocked",),
    detect=stream_ids_sign,
    interventions=stream_ids_changes,
    cured_by="eight times as many streams",
)
"""The server allows fewer requests at once than the client wants to send."""


_SEND_BUFFER_CLASSES = (LedgerClass.SEND_BUFFER,)
_IDLE = (*_SEND_BUFFER_CLASSES, LedgerClass.PACING, LedgerClass.UNEXPLAINED, LedgerClass.APPLICATION)
"""A program that waits for room in its buffer is idle, as one without data is: the log does not tell them apart, the
buffer's size does."""
_LEAST_BYTES, _LARGEST_BYTES, _DEFAULT_BYTES = 4096, 1 << 30, 64 << 20


def send_buffer_sign(pair: Pair) -> Sign | None:
    """Return a sign if the loser's sender waits longer for room in its send buffer."""
    side = pair.loser
    found, full_bytes = credit_met(side, "send_buffer"), _full(side)
    more_ns = pair.excess_ns(*(_SEND_BUFFER_CLASSES if full_bytes is None else _IDLE))
    if more_ns <= 0 or (full_bytes is None and len(found.time_ns) == 0):
        return None
    shown = stretches_shown(side, stretches(side, *_SEND_BUFFER_CLASSES), "the send buffer is full")
    if full_bytes is not None:
        text = f"never more than about {full_bytes} bytes are in flight, below the window: its buffer is full"
        shown = (Evidence(0, text), *shown)
    limit = found.window_bytes if found.window_bytes is not None else full_bytes
    return Sign(more_ns, shown, dose=None if limit is None else float(limit))


def _full(side: Side) -> int | None:
    """Return the most bytes in flight if the configured buffer holds no more and the window would have allowed more.

    The kernel counts a packet's own memory as well, so that a buffer of it holds half of its size or more. If the load
    is over QUIC, the ledger has found that the buffer was full.
    """
    if changes.over_quic(side.trial):
        waited = side.totals.get(LedgerClass.SEND_BUFFER, 0)
        return configured_buffer_bytes(side.trial) if waited else None
    most, size = most_in_flight(side), side.trial.tcp.get("send_buffer_bytes")
    return most if most is not None and size is not None and int(size) <= 2 * most + _LEAST_BYTES else None


def send_buffer_changes(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return buffers up to eight times as large for the loser, and the loser's buffer for the winner."""
    own = _limit(pair.loser, finding)
    larger = [(float(factor), _buffered(pair.loser, factor * own)) for factor in LARGER]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, larger[-1][1]),
        changes.transplant(Touches.MECHANISM, _buffered(pair.winner, own)),
        *changes.doses(Touches.MECHANISM, Target.LOSER, larger),
    ]


def _limit(side: Side, finding: Finding) -> int:
    """Return how far the loser's buffer may grow: as it is set, else as Linux has it, but not below what it held."""
    held = int(finding.dose or _DEFAULT_BYTES)
    if changes.over_quic(side.trial):
        return held
    return setting_bytes(side.trial, "tcp_send_buffer") or held


def _buffered(side: Side, size_bytes: int) -> Change | str:
    size = units.print_size(min(size_bytes, _LARGEST_BYTES))
    knobs = {"send_buffer": size_bytes}
    return changes.tuned(side.trial, "server", knobs, {"tcp_send_buffer": size}, f"a send buffer of {size}")


SEND_BUFFER = Cause(
    name="send_buffer",
    title="Small send buffer",
    sentence="its send buffer is full, and holds less than the path could carry",
    source="nginx#1712; Linux, tcp_chrono (SNDBUF_LIMITED)",
    role="server",
    classes=_SEND_BUFFER_CLASSES,
    needs=("metrics",),
    detect=send_buffer_sign,
    interventions=send_buffer_changes,
    cured_by="a send buffer eight times as large",
)
"""The server's buffer of data that is sent and not acknowledged is smaller than what the path holds."""


CAUSES = (
    STREAM_CREDIT,
    CONNECTION_CREDIT,
    LATE_CREDIT,
    HTTP2_STREAM_WINDOW,
    HTTP2_CONNECTION_WINDOW,
    STREAM_IDS,
    SEND_BUFFER,
)
