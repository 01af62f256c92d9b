"""The proofs that a knob has its effect: one for each name of adapters/CONTRACT.md and of single stacks.

An `ask.Ask` (one knob of one endpoint) goes in, a `Check` comes out. A proof compares two values on the wire or in a
log, and fails if the two trials look alike. It does not apply in a role in which the setting decides nothing that
this laboratory transfers, and gives the reason. `runner` uses the proofs; a new one is a function in a module of this
package, named in the module's PROOFS.

Entry points: `PROOFS`, `proven_over`, `ask.Ask`.
"""

from collections.abc import Callable, Mapping

from longlook.core import EITHER, QUIC_LIVE, UDP, UDP_ECHO
from longlook.instruments.conformance.checks import Check
from longlook.instruments.conformance.proofs import (
    acknowledgements,
    congestion,
    datagrams,
    moving,
    playing,
    racing,
    silence,
    start,
    traffic,
    uploading,
    viewing,
    windows,
)
from longlook.instruments.conformance.proofs.ask import Ask

Proof = Callable[[Ask], Check]

PROOFS: Mapping[str, Proof] = {
    name: proof
    for module in (
        *(windows, congestion, acknowledgements, datagrams, start, silence, racing, moving, traffic, playing),
        *(uploading, viewing),
    )
    for name, proof in module.PROOFS.items()
}

_PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "max_incoming_streams": ("h3", "h2"),
    "allow_0rtt": ("h3", "h2"),
    "fast_open": ("h2",),
    "http2_stream_window": ("h2",),
    "http2_connection_window": ("h2",),
    "threads": ("http/1.0",),
    **dict.fromkeys(uploading.PROOFS, ("h3", "h2")),
    "move_at": ("h3", "h2"),
    "move_after_silence": ("h3", "h2"),
    **dict.fromkeys(racing.PROOFS, (EITHER.name,)),
    **dict.fromkeys(traffic.PROOFS, (UDP.name,)),
    **dict.fromkeys(playing.PROOFS, ("h3", "h2")),
    "dont_fragment": (UDP_ECHO.name,),
    **dict.fromkeys(viewing.PROOFS, (QUIC_LIVE.name,)),
}


def proven_over(name: str) -> tuple[str, ...]:
    """Return the protocols for which a knob's proof holds."""
    return _PROTOCOLS.get(name, ("h3",))
