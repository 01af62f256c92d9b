"""The addresses of a trial, over either version of IP.

Both subnets are for measurements: 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180). Firefox begins no connection to
private addresses (RFC 1918) of its own accord, and so would not fall back to TCP as it does on the Internet.
"""

from dataclasses import dataclass

from longlook.core import Trial

SERVER_PORT = 443
_PAIRS_A_BLOCK = 127  # of the addresses .1 to .254


@dataclass(frozen=True)
class Addresses:
    """The addresses of a flow's client and server."""

    client: str
    server: str


@dataclass(frozen=True)
class AddressPlan:
    """The addresses of a trial: all lie in `subnet`, and no two are the same.

    `second_client` is of a client that moves, or has a second link. `second_server` is of a server that prefers it: at
    the second link if there is one, else at the first. `middle` is of the middle of a path of two links.
    """

    version: int
    subnet: str
    client: str
    server: str
    second_client: str
    second_server: str
    middle: str

    def of_slot(self, address_slot: int) -> Addresses:
        """Return the pair of addresses of a slot: odd for the client, even for the server.

        Each competing flow has a slot of its own, so that routes can set the TCP of each separately. The second
        addresses and the middle lie in later blocks.
        """
        block, pair = divmod(address_slot, _PAIRS_A_BLOCK)
        own, peer = 2 * pair + 1, 2 * pair + 2
        if self.version == 4:
            return Addresses(f"198.18.{block}.{own}", f"198.18.{block}.{peer}")
        between = f"2001:2::{block:x}:" if block else "2001:2::"
        return Addresses(f"{between}{own:x}", f"{between}{peer:x}")


IPV4 = AddressPlan(4, "198.18.0.0/16", "198.18.0.1", "198.18.0.2", "198.18.254.1", "198.18.254.2", "198.18.255.1")
IPV6 = AddressPlan(6, "2001:2::/64", "2001:2::1", "2001:2::2", "2001:2::fe:1", "2001:2::fe:2", "2001:2::ff:1")


def plan_of(trial: Trial) -> AddressPlan:
    """Return the addresses of a trial."""
    return IPV6 if trial.ip == 6 else IPV4


def alone(address: str) -> str:
    """Return the subnet that has one address and no other."""
    return f"{address}/128" if ":" in address else f"{address}/32"
