"""The port of a server that is a program of others."""

import ipaddress
import socket


def free_port(protocol: str, address: str, port: int) -> int:
    """The port asked for, or one that is free now where that is 0; OSError where it is taken.

    Some programs share a port with others silently, and most cannot tell which one the kernel chose.
    """
    v6 = ipaddress.ip_address(address).version == 6
    kind = socket.SOCK_DGRAM if protocol == "h3" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, kind) as probe:
        if kind == socket.SOCK_STREAM:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: closed connections linger
        probe.bind((address, port))
        found: int = probe.getsockname()[1]
    return found
