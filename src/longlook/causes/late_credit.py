"""The client's windows are large enough, and it opens them so late that the sender waits."""

from collections.abc import Sequence

from longlook.explain import changes, remedies
from longlook.explain.cause import Cause, Change, Finding, Intervention, Sign, Target, Touches, Untestable
from longlook.explain.credit import LARGER, credit_met, quic_window, window_knobs
from longlook.explain.ledger import LedgerClass
from longlook.explain.moments import stretches, stretches_shown
from longlook.explain.pair import Pair, Side
from longlook.explain.signs import bdp_bytes

_CLASSES = (LedgerClass.STREAM_CREDIT, LedgerClass.CONNECTION_CREDIT)


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server waits for credit though the window is two bandwidth-delay
    products or more.
    """
    more_ns, side = pair.excess_ns(*_CLASSES), pair.loser
    product = bdp_bytes(side)
    known = [
        window
        for names in (("stream",), ("connection", "receive_window"))
        if (window := credit_met(side, *names).window_bytes) is not None
    ]
    if more_ns <= 0 or not product or not known or min(known) < 2 * product:
        return None
    shown = stretches_shown(side, stretches(side, *_CLASSES), "credit is used up that would fill the path twice")
    return Sign(more_ns, shown, dose=float(min(known)))


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return larger windows for the loser's client, which late updates exhaust later."""
    met = int(finding.dose or 0)
    grows_to = max(quic_window(pair.loser, kind)[1] for kind in ("stream", "connection"))
    larger = [(float(factor), _offered(pair.loser, factor * met, factor * max(met, grows_to))) for factor in LARGER]
    return [
        changes.cure(Touches.MECHANISM, Target.LOSER, larger[-1][1]),
        *changes.doses(Touches.MECHANISM, Target.LOSER, larger),
    ]


def _offered(side: Side, first_bytes: int, most_bytes: int) -> Change | str:
    knobs = window_knobs("stream", first_bytes, most_bytes) | window_knobs("connection", first_bytes, most_bytes)
    return remedies.tuned(side.trial, "client", knobs, {}, f"windows of {first_bytes} bytes")


CAUSE = Cause(
    name="late_credit",
    title="Late updates of credit",
    sentence="its client's window of {size} would suffice, but is opened again too late",
    source="base-drafts#3793; RFC 9000, 4.2",
    role="client",
    classes=_CLASSES,
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="windows eight times as large",
)
