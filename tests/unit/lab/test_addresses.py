"""The addresses of trials and flows."""

from ipaddress import ip_address, ip_network

import pytest

from longlook.core.addresses import address_in, with_port
from longlook.core.flows import MOST_ADDRESS_SLOTS
from longlook.lab.addresses import IPV4, IPV6, Addresses, AddressPlan, alone


@pytest.mark.parametrize("plan", [IPV4, IPV6])
def test_every_slot_has_a_pair_of_its_own_in_the_subnet(plan: AddressPlan) -> None:
    pairs = [plan.of_slot(slot) for slot in range(MOST_ADDRESS_SLOTS)]
    texts = [text for pair in pairs for text in (pair.client, pair.server)]
    texts += [plan.second_client, plan.second_server, plan.middle]
    every = [ip_address(text) for text in texts]
    assert len(set(every)) == 2 * MOST_ADDRESS_SLOTS + 3
    assert all(address in ip_network(plan.subnet) for address in every)
    assert {address.version for address in every} == {plan.version}
    assert not {address.packed[-1] for address in every} & {0, 255}
    assert pairs[0] == Addresses(plan.client, plan.server)
    assert [str(address) for address in every] == texts  # as programs write them (RFC 5952)


def test_blocks_of_pairs() -> None:
    assert IPV4.of_slot(126) == Addresses("198.18.0.253", "198.18.0.254")
    assert IPV4.of_slot(127) == Addresses("198.18.1.1", "198.18.1.2")
    assert IPV6.of_slot(126) == Addresses("2001:2::fd", "2001:2::fe")
    assert IPV6.of_slot(127) == Addresses("2001:2::1:1", "2001:2::1:2")


def test_how_programs_write_an_address() -> None:
    assert (with_port(IPV4.client, 1), with_port(IPV6.server, 443)) == ("198.18.0.1:1", "[2001:2::2]:443")
    assert [address_in(text) for text in ("198.18.0.1:1", "[2001:2::2]:443", "")] == ["198.18.0.1", "2001:2::2", ""]
    assert (alone(IPV4.middle), alone(IPV6.middle)) == ("198.18.255.1/32", "2001:2::ff:1/128")
