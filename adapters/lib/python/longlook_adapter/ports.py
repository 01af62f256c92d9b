"""The port of a server that is somebody else's program."""

import socket

from longlook_adapter.addresses import family_of
from longlook_adapter.either import spoken


def free_port(protocol: str, address: str, port: int) -> int:
    """Return the port asked for, or one that is free now where that is 0; OSError where it is taken.

    Some programs share a port with others silently, and most do not report which one the kernel chose.
    """
    for each in reversed(spoken(protocol)):  # of two, the port that is free for TCP must be free for UDP, too
        kind = socket.SOCK_DGRAM if each == "h3" else socket.SOCK_STREAM
        with socket.socket(family_of(address), kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: closed connections linger
            probe.bind((address, port))
            port = probe.getsockname()[1]
    return port
