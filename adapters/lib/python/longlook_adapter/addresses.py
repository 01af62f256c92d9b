"""Addresses of sockets."""

import ipaddress
import socket


def family_of(host: str) -> socket.AddressFamily:
    """Return the family of sockets for an IP address; ValueError where it is none."""
    return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET


def source_address(remote: tuple[str, int]) -> str:
    """Return the IP address that the kernel would send from; OSError where there is no route."""
    with socket.socket(family_of(remote[0]), socket.SOCK_DGRAM) as probe:
        probe.connect(remote)  # sends nothing
        host: str = probe.getsockname()[0]
    return host
