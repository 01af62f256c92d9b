"""This network namespace's connections to the server, from the kernel: the proof that one has been closed."""

import asyncio
import ipaddress
import socket
from pathlib import Path

from longlook_adapter.addresses import family_of

POLL_S = 0.002
_ANY_PORT = 9  # a datagram socket is connected without a packet
_ESTABLISHED, _SYN_SENT, _CLOSE_WAIT = "01", "02", "08"
_OPEN = {_ESTABLISHED, _SYN_SENT, _CLOSE_WAIT}  # the program still holds it; FIN_WAIT and TIME_WAIT are the kernel's


def connections(protocol: str, address: str, port: int) -> list[str]:
    """Return local addresses ("ip:port") of the sockets connected to `address:port`: UDP for h3, else TCP."""
    six = ipaddress.ip_address(address).version == 6
    table = Path(f"/proc/self/net/{'udp' if protocol == 'h3' else 'tcp'}{'6' if six else ''}")
    wanted = (ipaddress.ip_address(address), port)
    found = []
    for row in table.read_text().splitlines()[1:]:
        _slot, local, remote, state = row.split()[:4]
        if state in _OPEN and _endpoint(remote) == wanted:
            host, local_port = _endpoint(local)
            found.append(f"[{host}]:{local_port}" if six else f"{host}:{local_port}")
    return found


def own_address(address: str) -> str:
    """Return this machine's address towards another."""
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as probe:
        probe.connect((address, _ANY_PORT))
        return str(probe.getsockname()[0])


def unconnected(address: str) -> list[str]:
    """Return local addresses of the UDP sockets that could send to `address` and have no peer of their own: a server's,
    and those of clients that leave it to each datagram where it goes.
    """
    own = own_address(address)
    found = []
    for table in ("udp", "udp6"):
        for row in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            _slot, local, remote, _state = row.split()[:4]
            host, port = _endpoint(local)
            if _endpoint(remote)[1] == 0 and (host.is_unspecified or str(host) == own):
                found.append(f"[{own}]:{port}" if ":" in own else f"{own}:{port}")
    return found


async def wait_until_closed(address: str, port: int, limit_s: float) -> None:
    """Return when no connection to the server is open any more; TimeoutError after `limit_s`."""
    async with asyncio.timeout(limit_s):
        while connections("h3", address, port) or connections("h2", address, port):
            await asyncio.sleep(POLL_S)


def _endpoint(text: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    host, _, port = text.partition(":")
    words = [bytes.fromhex(host[i : i + 8])[::-1] for i in range(0, len(host), 8)]  # the kernel prints host order
    return ipaddress.ip_address(b"".join(words)), int(port, 16)
