"""The client's credit for the connection, over TCP its receive window, is smaller than what the path holds."""

from collections.abc import Sequence

from longlook.core import units
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Untestable
from longlook.explain.credit import credit_met, larger_windows, quic_window, window_knobs
from longlook.explain.effective_settings import setting_bytes
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import bdp_bytes

_CLASSES = (LedgerClass.CONNECTION_CREDIT,)
_OF_TCP = (*_CLASSES, LedgerClass.PACING, LedgerClass.UNEXPLAINED)
"""The kernel counts this wait, but says only when it begins: the ledger has the rest in these classes."""
_BUFFERS_PER_WINDOW = 2
"""Linux offers about half of a receive buffer as window, as the rest is for the packets' own memory."""
_LEAST_BUFFER, _MOST_BUFFER = 4096, 1 << 30


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server waits longer for credit of the connection, whose window is
    below two bandwidth-delay products.

    With more than that the window suffices, and its updates are late (`late_credit`).
    """
    side = pair.loser
    more_ns = pair.excess_ns(*(_CLASSES if changes.over_quic(side.trial) else _OF_TCP))
    product, found = bdp_bytes(side), credit_met(side, "connection", "receive_window")
    if more_ns <= 0 or (len(found.time_ns) == 0 and not changes.over_quic(side.trial)):
        return None
    if product and found.window_bytes is not None and found.window_bytes >= 2 * product:
        return None
    ends = f"a window of {found.window_bytes} bytes ends"
    first = [Evidence(int(time_ns) - side.start_ns, ends) for time_ns in found.time_ns[:1]]
    shown = (*first, *stretches_shown(side, stretches(side, *_CLASSES), "the credit for the connection is used up"))
    return Sign(more_ns, shown, dose=None if found.window_bytes is None else float(found.window_bytes))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client, and the loser's window for the winner's."""
    return larger_windows(finding, pair, _offered, _own)


def _own(side: Side) -> tuple[int | None, int]:
    """Return the window that a side's client is set to, None if none bounds it, and the window that it may grow to."""
    if changes.over_quic(side.trial):
        return quic_window(side, "connection")
    buffer_bytes = setting_bytes(side.trial, "tcp_receive_buffer") or _MOST_BUFFER
    return None, buffer_bytes // _BUFFERS_PER_WINDOW


def _buffer_for(window_bytes: int) -> int:
    return min(max(_BUFFERS_PER_WINDOW * window_bytes, _LEAST_BUFFER), _MOST_BUFFER)


def _offered(side: Side, first_bytes: int, most_bytes: int) -> Change | str:
    buffer_bytes = _buffer_for(most_bytes)
    buffers = {"tcp_receive_buffer": units.print_size(buffer_bytes)}
    window = first_bytes if changes.over_quic(side.trial) else most_bytes
    knobs, label = window_knobs("connection", first_bytes, most_bytes), f"a window of {window} bytes for the connection"
    return remedies.tuned(side.trial, "client", knobs, buffers, label)


CAUSE = Cause(
    name="connection_credit",
    title="Small connection window",
    sentence="its client's credit for the connection is used up before more of it arrives",
    source="RFC 9000, 4.1; RFC 9293, 3.8.6; quiche#1400",
    role="client",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="a connection window, or receive buffer, eight times as large",
)
