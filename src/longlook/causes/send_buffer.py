"""The server's buffer of data that is sent and not acknowledged is smaller than what the path holds."""

from collections.abc import Sequence

from longlook.core import units
from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.credit import LARGER, credit_met, most_in_flight
from longlook.explain.effective_settings import setting_bytes
from longlook.explain.facts.credits import configured_buffer_bytes
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair, Side

_CLASSES = (LedgerClass.SEND_BUFFER,)
_IDLE = (*_CLASSES, LedgerClass.PACING, LedgerClass.UNEXPLAINED, LedgerClass.APPLICATION)
"""A program that waits for room in its buffer is idle, as one without data is: the log does not tell them apart, the
buffer's size does."""
_LEAST_BYTES, _LARGEST_BYTES, _DEFAULT_BYTES = 4096, 1 << 30, 64 << 20


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's sender waits longer for room in its send buffer."""
    side = pair.loser
    found, full_bytes = credit_met(side, "send_buffer"), _full(side)
    more_ns = pair.excess_ns(*(_CLASSES if full_bytes is None else _IDLE))
    if more_ns <= 0 or (full_bytes is None and len(found.time_ns) == 0):
        return None
    shown = stretches_shown(side, stretches(side, *_CLASSES), "the send buffer is full")
    if full_bytes is not None:
        text = f"never more than about {full_bytes} bytes are in flight, below the window: its buffer is full"
        shown = (Evidence(0, text), *shown)
    limit = found.window_bytes if found.window_bytes is not None else full_bytes
    return Sign(more_ns, shown, dose=None if limit is None else float(limit))


def _full(side: Side) -> int | None:
    """Return the most that was in flight where it is as much as the configured buffer holds, and less than the window.

    The kernel counts a packet's own memory as well, so that a buffer of it holds half of its size or more. Of QUIC the
    ledger has found that it was full.
    """
    if changes.over_quic(side.trial):
        waited = side.totals.get(LedgerClass.SEND_BUFFER, 0)
        return configured_buffer_bytes(side.trial) if waited else None
    most, size = most_in_flight(side), side.trial.tcp.get("send_buffer_bytes")
    return most if most is not None and size is not None and int(size) <= 2 * most + _LEAST_BYTES else None


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
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
    return remedies.tuned(side.trial, "server", knobs, {"tcp_send_buffer": size}, f"a send buffer of {size}")


CAUSE = Cause(
    name="send_buffer",
    title="Small send buffer",
    sentence="its send buffer is full, and holds less than the path could carry",
    source="nginx#1712; Linux, tcp_chrono (SNDBUF_LIMITED)",
    role="server",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="a send buffer eight times as large",
)
