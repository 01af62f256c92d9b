"""The client's credit for a stream is smaller than what the path holds."""

from collections.abc import Sequence

from longlook.explain import remedies
from longlook.explain.cause import Cause, Change, Evidence, Finding, Intervention, Sign, Untestable
from longlook.explain.credit import credit_met, larger_windows, quic_window, window_knobs
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import bdp_bytes

_CLASSES = (LedgerClass.STREAM_CREDIT,)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server waits longer for credit of a stream, whose window is below two
    bandwidth-delay products.

    With more than that the window suffices, and its updates are late (`late_credit`).
    """
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    product, found = bdp_bytes(side), credit_met(side, "stream")
    if more_ns <= 0 or (product and found.window_bytes is not None and found.window_bytes >= 2 * product):
        return None
    shown = (
        *(
            Evidence(int(time_ns) - side.start_ns, f"a window of {found.window_bytes} bytes ends")
            for time_ns in found.time_ns[:1]
        ),
        *stretches_shown(side, stretches(side, *_CLASSES), "the credit for a stream is used up"),
    )
    return Sign(more_ns, shown, dose=None if found.window_bytes is None else float(found.window_bytes))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client, and the loser's window for the winner's."""
    return larger_windows(finding, pair, _offered, lambda side: quic_window(side, "stream"))


def _offered(side: Side, first_bytes: int, most_bytes: int) -> Change | str:
    knobs = window_knobs("stream", first_bytes, most_bytes)
    return remedies.tuned(side.trial, "client", knobs, {}, f"a stream window of {first_bytes} bytes")


CAUSE = Cause(
    name="stream_credit",
    title="Small stream window",
    sentence="its client's credit for a stream is used up before more of it arrives",
    source="RFC 9000, 4.1; curl#20030",
    role="client",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="a stream window eight times as large",
)
