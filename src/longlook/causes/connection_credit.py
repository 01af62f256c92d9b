"""The client's credit for the connection, over TCP its receive window, is smaller than what the path holds."""

from collections.abc import Sequence

from longlook.core import units
from longlook.core.model import Trial
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Untestable
from longlook.explain.credit import LARGER, credit_met, largest_window, raised
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.side import Pair, Side
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
    trial = pair.loser.trial
    own_bytes = 0 if changes.over_quic(trial) else _buffer_bytes(trial)
    if finding.dose is not None and own_bytes >= _buffer_for(LARGER[-1] * int(finding.dose)):
        reason = (
            f"the receive window grows by itself to half of the buffer, which is {units.print_size(own_bytes)}, far "
            "more than was used: no setting here makes it begin larger or grow faster"
        )
        return [changes.cure(Target.LOSER, reason)]
    return raised(finding, pair, _opened, _held)


def _opened(side: Side, window_bytes: int) -> Change | str:
    if changes.over_quic(side.trial):
        return _offered(side, window_bytes, max(window_bytes, largest_window(side.trial, "max_connection_window")))
    if _buffer_for(window_bytes) <= _buffer_bytes(side.trial):
        return f"its receive buffer is {units.print_size(_buffer_bytes(side.trial))} already"
    return _offered(side, window_bytes, window_bytes)


def _held(side: Side, window_bytes: int) -> Change | str:
    return _offered(side, window_bytes, window_bytes)


def _buffer_bytes(trial: Trial) -> int:
    """Return how far the receive buffer of TCP may grow in a trial."""
    return units.parse_size(changes.tcp_value(trial, "tcp_receive_buffer"))


def _buffer_for(window_bytes: int) -> int:
    return min(max(_BUFFERS_PER_WINDOW * window_bytes, _LEAST_BUFFER), _MOST_BUFFER)


def _offered(side: Side, window_bytes: int, largest_bytes: int) -> Change | str:
    knobs = {"initial_connection_window": window_bytes, "max_connection_window": largest_bytes}
    buffer_bytes = _buffer_for(window_bytes)
    buffers = {"tcp_receive_buffer": units.print_size(buffer_bytes)}
    return remedies.tuned(side.trial, "client", knobs, buffers, f"a window of {window_bytes} bytes for the connection")


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
