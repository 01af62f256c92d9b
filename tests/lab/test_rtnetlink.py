"""What the laboratory asks of the kernel's network arrives as asked, read back through pyroute2's own socket."""

import errno
import time
from pathlib import Path

import pytest

from longlook.lab.addresses import IPV6
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.netlink import NetlinkError
from longlook.lab.topology import CLIENT, PACKET, SERVER, EndpointNamespace, server_of

pytestmark = pytest.mark.lab


def test_both_ends_of_a_veth_are_as_declared() -> None:
    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET) as side:
        for namespace, device, mac in (
            (side.namespace, CLIENT.device, CLIENT.mac),
            (router, CLIENT.router_device, CLIENT.router_mac),
        ):
            (found,) = namespace.netlink.link("get", index=namespace.index(device))
            got = {name: found.get_attr(f"IFLA_{name}") for name in ("IFNAME", "ADDRESS", "MTU", "TXQLEN", "OPERSTATE")}
            assert got == {"IFNAME": device, "ADDRESS": mac, "MTU": 1500, "TXQLEN": 10_000, "OPERSTATE": "UP"}


def test_addresses_and_neighbours_are_as_declared() -> None:
    with Namespace() as router, EndpointNamespace(SERVER, router, PACKET) as side:
        side.add_address("198.18.0.4", "198.18.0.3", None, {})
        netlink = side.namespace.netlink
        found = {a.get_attr("IFA_LOCAL"): a["prefixlen"] for a in netlink.get_addr(label=SERVER.device)}
        assert found == {SERVER.address: 16, "198.18.0.4": 32}
        neighbours = netlink.get_neighbours(ifindex=side.namespace.index(SERVER.device))
        known = {n.get_attr("NDA_DST"): (n.get_attr("NDA_LLADDR"), n["state"]) for n in neighbours}
        assert known == {SERVER.peer_address: (SERVER.peer_mac, 0x80), "198.18.0.3": (SERVER.peer_mac, 0x80)}


def test_the_kernel_s_refusal_has_its_number_and_later_requests_work() -> None:
    with Namespace() as namespace:
        with pytest.raises(NetlinkError) as refused:
            namespace.routes.add_address(77, "198.18.0.9", 24)
        assert refused.value.code == errno.ENODEV
        namespace.routes.add_address(1, "198.18.0.9", 24)
        assert "198.18.0.9" in [a.get_attr("IFA_LOCAL") for a in namespace.netlink.get_addr(index=1)]


def test_a_device_that_does_not_exist_has_no_index() -> None:
    with Namespace() as namespace, pytest.raises(OSError, match="no interface"):
        namespace.index("nothing0")


def test_drops_are_counted_by_device() -> None:
    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET) as side:
        (link,) = side.namespace.netlink.link("get", index=side.namespace.index(CLIENT.device))
        counters = link.get_attr("IFLA_STATS64")
        names = ("tx_dropped", "rx_dropped", "tx_errors", "rx_errors")
        assert side.namespace.drops(CLIENT.device) == {name: counters[name] for name in names}


def test_an_end_over_ipv6_has_its_addresses_and_sends_nothing_by_itself() -> None:
    with Namespace() as router, EndpointNamespace(server_of(IPV6), router, PACKET) as side:
        side.add_address("2001:2::4", "2001:2::3", None, {})
        netlink, device = side.namespace.netlink, side.namespace.index(SERVER.device)
        found = {a.get_attr("IFA_ADDRESS"): (a["prefixlen"], a["flags"]) for a in netlink.get_addr(index=device)}
        permanent_without_detection = 0x80 | 0x02
        assert found.keys() == {IPV6.server, "2001:2::4"}  # no address of the link
        assert {text: bits for text, (bits, _) in found.items()} == {IPV6.server: 64, "2001:2::4": 128}
        assert all(flags & 0xFF == permanent_without_detection for _, flags in found.values())
        known = [n.get_attr("NDA_DST") for n in netlink.get_neighbours(ifindex=device) if n["state"] == 0x80]
        assert sorted(known) == [IPV6.client, "2001:2::3"]
        assert side.namespace.udp_errors() == 0
        time.sleep(1.2)  # longer than reports of groups, and detection of duplicates, are put off (RFC 3810, 9.3)
        assert router.received(SERVER.router_device) == 0


def test_an_end_over_ipv4_has_no_ipv6() -> None:
    with Namespace() as router, EndpointNamespace(SERVER, router, PACKET) as side, side.namespace.inside():
        assert Path("/proc/sys/net/ipv6/conf", SERVER.device, "disable_ipv6").read_text().strip() == "1"
