"""Connections that a program of others accepted, told from what it says of requests."""

from longlook_adapter.lines import emit, endpoint
from longlook_adapter.tcp_sockets import congestion_control


class Accepted:
    """Prints a `connection` line when the first request of a connection is heard of.

    When the handshake was complete is not known then, so no time is given; nor is the congestion control of a
    connection that is over.
    """

    def __init__(self, protocol: str, local: tuple[str, int]) -> None:
        self._protocol, self._local = protocol, local
        self._told: set[tuple[str, int]] = set()

    def request(self, remote: tuple[str, int], *, resumed: bool, used_0rtt: bool) -> None:
        """A request came from there."""
        if remote in self._told:
            return
        self._told.add(remote)
        known = {"congestion_control": congestion_control(self._local, remote)} if self._protocol != "h3" else {}
        emit(
            "connection",
            protocol=self._protocol,
            local=endpoint(self._local),
            remote=endpoint(remote),
            resumed=resumed,
            used_0rtt=used_0rtt,
            t_handshake_ns=None,
            **known,
        )
