"""The credit that a receiver gives its sender, as far as the sender ran into it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longlook.core.knobs import LARGEST_HTTP2_WINDOW
from longlook.core.model import Scalar
from longlook.explain import changes
from longlook.explain.cause import Change, Evidence, Finding, Sign, Target, Touches
from longlook.explain.changes import Proposal
from longlook.explain.effective_settings import effective_value
from longlook.explain.facts import Integers
from longlook.explain.facts.credits import FirstCredits, Http2Windows
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import during, stretches, stretches_shown
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import bdp_bytes

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
    """Return how often the server met some limits of the client in the load, and with what window.

    QUIC's limits are offsets, of which the first is the window that the receiver began with. TCP's are windows. Where
    no log has a limit that was met, the window is the one that the client began with, and the ledger says when.
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
    """Return the most bytes that the server had in flight, where its congestion window would have allowed a quarter
    more throughout; None where it filled its window or its log does not say.
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

    The first is None where no setting bounds it. The second is what its stack declares; where that is not known, it is
    more than any stack here offers where nobody sets it.
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

    None where the window is two bandwidth-delay products or more: it suffices, and the client takes its time to read.
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
