"""HTTP/3 and HTTP/2 on one port, of which the client chooses (adapters/CONTRACT.md, *Two protocols*)."""

from collections.abc import Callable, Mapping

from longlook_adapter.knobs import whole

EITHER = "h3-or-h2"

ALT_SVC_PORT = "alt_svc_port"
ALT_SVC_KNOBS: Mapping[str, Callable[[str], int]] = {ALT_SVC_PORT: whole(1, 65_535)}
"""The knob of a server that names HTTP/3 in its answers over TCP, and then gives no session tickets."""

_MAX_AGE_S = 86_400


def spoken(protocol: str) -> tuple[str, ...]:
    """Return the protocols that connections of a job with this protocol may speak."""
    return ("h3", "h2") if protocol == EITHER else (protocol,)


def alt_svc(port: int) -> str:
    """Return the header's value that names HTTP/3 on a port of the same host (RFC 7838), for a day."""
    return f'h3=":{port}"; ma={_MAX_AGE_S}'
