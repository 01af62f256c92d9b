"""The credit that a receiver gives its sender, as far as the sender ran into it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longlook.core.model import Scalar
from longlook.explain import changes
from longlook.explain.cause import Change, Finding, Target, Touches
from longlook.explain.changes import Proposal
from longlook.explain.facts import Integers
from longlook.explain.facts.credits import FirstCredits
from longlook.explain.in_force import in_force
from longlook.explain.moments import during
from longlook.explain.side import Pair, Side

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
    known = in_force(side, "client", f"max_{kind}_window")
    given = next((value for value in found if isinstance(value, int)), None)
    return given, _NO_LIMIT_BYTES if known is None else int(known)


def window_knobs(kind: str, first_bytes: int, most_bytes: int) -> dict[str, Scalar]:
    """Return a client's knobs for a window of a stream or of the connection: at first, and at most."""
    return {f"initial_{kind}_window": first_bytes, f"max_{kind}_window": most_bytes}
