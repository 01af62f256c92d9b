"""HTTP/2's window of the connection is smaller than what the path holds."""

from collections.abc import Sequence

from longlook.explain.cause import Cause, Finding, Intervention, Sign, Untestable
from longlook.explain.credit import http2_sign, http2_widened
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair


def detect(pair: Pair) -> Sign | None:
    """Return a sign where the loser's server waits longer for HTTP/2's credit of the connection, whose window is below
    two bandwidth-delay products.

    With more than that the window suffices, and the client reads late (`slow_reader`).
    """
    return http2_sign(pair, LedgerClass.HTTP2_CONNECTION_CREDIT, "connection")


def interventions(finding: Finding, pair: Pair) -> Sequence[Intervention | Untestable]:
    """Return windows up to eight times as large for the loser's client and half of its own, and the loser's window for
    the winner's.
    """
    return http2_widened(finding, pair, "connection")


CAUSE = Cause(
    name="http2_connection_window",
    title="Small HTTP/2 connection window",
    sentence="its client's HTTP/2 window of {size} for the connection is used up before more of it arrives",
    source="RFC 9113, 6.9; curl#1102; mint#481",
    role="client",
    classes=(LedgerClass.HTTP2_CONNECTION_CREDIT,),
    needs=("metrics",),
    detect=detect,
    interventions=interventions,
    cured_by="an HTTP/2 window eight times as large",
)
