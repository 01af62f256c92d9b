"""The addresses of flows."""

from ipaddress import ip_address, ip_network

from longlook.core.flows import MOST_ADDRESS_SLOTS
from longlook.lab.topology import CLIENT_ADDRESS, SERVER_ADDRESS, SUBNET, Addresses, addresses_of


def test_every_slot_has_a_pair_of_its_own_in_the_subnet() -> None:
    pairs = [addresses_of(slot) for slot in range(MOST_ADDRESS_SLOTS)]
    every = [ip_address(text) for pair in pairs for text in (pair.client, pair.server)]
    assert len(set(every)) == 2 * MOST_ADDRESS_SLOTS
    assert all(address in ip_network(SUBNET) for address in every)
    assert not {address.packed[-1] for address in every} & {0, 255}
    assert pairs[0] == Addresses(CLIENT_ADDRESS, SERVER_ADDRESS)
    assert pairs[126] == Addresses("198.18.0.253", "198.18.0.254")
    assert pairs[127] == Addresses("198.18.1.1", "198.18.1.2")
