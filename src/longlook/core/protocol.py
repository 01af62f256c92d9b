"""The protocols that trials speak: the one place that says which is QUIC, and what carries the others."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """A protocol by the name that studies and programs give it.

    `quic` says that all its connections are QUIC, `kernel_tcp` that the kernel's TCP carries connections of it.
    `spoken` has the protocols that a connection may speak, its own name alone for most.
    """

    name: str
    quic: bool = False
    kernel_tcp: bool = False
    fetches: bool = True  # its client requests files
    echoes: bool = False  # its server answers datagrams with the same datagrams
    live: bool = False  # its server produces frames of its own accord
    connection_per_request: bool = False
    alternatives: tuple[str, ...] = ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """Return the names of the protocols that connections of a trial with this protocol may speak."""
        return self.alternatives or (self.name,)

    @property
    def cross_traffic(self) -> bool:
        """Return whether it is bare datagrams that nobody asks for and nobody answers."""
        return not (self.fetches or self.echoes or self.live)

    @property
    def transport(self) -> str:
        """Return `tcp` if the kernel's TCP carries its connections, else `udp`."""
        return "tcp" if self.kernel_tcp else "udp"


H3 = Protocol("h3", quic=True)
HQ = Protocol("hq-interop", quic=True)
"""HTTP/0.9 over QUIC: a request is a line, an answer is a body and nothing else."""
H2 = Protocol("h2", kernel_tcp=True)
HTTP_1_0 = Protocol("http/1.0", kernel_tcp=True, connection_per_request=True)
UDP = Protocol("udp", fetches=False)
UDP_ECHO = Protocol("udp-echo", fetches=False, echoes=True)
QUIC_ECHO = Protocol("quic-echo", quic=True, fetches=False, echoes=True)
QUIC_LIVE = Protocol("quic-live", quic=True, fetches=False, live=True)
TLS_LIVE = Protocol("tls-live", kernel_tcp=True, fetches=False, live=True)
UDP_LIVE = Protocol("udp-live", fetches=False, live=True)
EITHER = Protocol("h3-or-h2", kernel_tcp=True, alternatives=("h3", "h2"))
"""The server speaks HTTP/3 and HTTP/2 on one port, and the client chooses: it races them, or falls back."""

_KNOWN = {
    each.name: each for each in (H3, HQ, H2, HTTP_1_0, UDP, UDP_ECHO, QUIC_ECHO, QUIC_LIVE, TLS_LIVE, UDP_LIVE, EITHER)
}
_DRAFT = "h3-"
"""Drafts of HTTP/3 are called h3-29 and the like."""


def find_protocol(name: str) -> Protocol:
    """Return the protocol of this name. One that is not known here runs over the kernel's TCP, as http/1.1 does."""
    if name in _KNOWN:
        return _KNOWN[name]
    return Protocol(name, quic=True) if name.startswith(_DRAFT) else Protocol(name, kernel_tcp=True)
