"""Connections that somebody else's program accepted, found from its log of requests."""

from longlook_adapter.lines import emit, endpoint
from longlook_adapter.tcp_sockets import congestion_control


class Accepted:
    """Print a `connection` line when the first request of a connection appears in the log.

    The time of its handshake is not known then, so none is given; nor is the congestion control of a connection that
    is closed already.
    """

    def __init__(self, local: tuple[str, int]) -> None:
        self._local = local
        self._reported: set[tuple[str, tuple[str, int]]] = set()

    def request(self, protocol: str, remote: tuple[str, int], *, resumed: bool, used_0rtt: bool) -> None:
        """Note a request over a protocol from an address."""
        if (protocol, remote) in self._reported:
            return
        self._reported.add((protocol, remote))
        known = {"congestion_control": congestion_control(self._local, remote)} if protocol != "h3" else {}
        emit(
            "connection",
            protocol=protocol,
            local=endpoint(self._local),
            remote=endpoint(remote),
            resumed=resumed,
            used_0rtt=used_0rtt,
            t_handshake_ns=None,
            **known,
        )
