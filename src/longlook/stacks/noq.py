"""noq (n0): HTTP/3 over a fork of quinn with Multipath QUIC, and HTTP/2 of hyper, in one program (adapters/noq)."""

from dataclasses import replace

from longlook.core import Version, knobs, with_default
from longlook.provision import cargo_stack
from longlook.stacks.quinn import STACK as QUINN

_VERSIONS = (Version("1.4.0", "2026-10-20"),)

_OWN = {
    "congestion_control": with_default(
        QUINN.knobs["congestion_control"], "stack: cubic", usual="cubic", choices=("cubic", "reno", "bbr3")
    ),
    "initial_rtt": replace(QUINN.knobs["initial_rtt"], roles=("client",)),
    "max_pacing_rate": with_default(replace(knobs.MAX_PACING_RATE, protocols=("h3",)), "stack: none"),
    "retry": with_default(replace(knobs.RETRY, protocols=("h3",)), "stack: off", usual=False),
    "multipath": with_default(
        knobs.MULTIPATH,
        "stack: off",
        choices=("in-order",),
        help="two paths at once (draft-ietf-quic-multipath), the second one from the client's second address: what the "
        "first one's window and pacing do not let goes over the second; both ends must have it",
    ),
}

_KNOBS = {name: knob for name, knob in {**QUINN.knobs, **_OWN}.items() if name != "preferred_address"}
"""A server takes no packet for another address of its own than the one at which a connection began."""

STACK = cargo_stack(
    "noq",
    "noq (n0): HTTP/3 by h3 over it, and HTTP/2 of hyper, from one program",
    _VERSIONS,
    _KNOBS,
    protocols=("h3", "h2"),
    libraries=("noq", "noq-proto", "noq-udp"),
    early_data_protocols=("h3", "h2"),
)
